// SPDX-License-Identifier: Apache-2.0
// Tests that the HTTP server closes a waiting connection at the limit, and connections of clients
// that send or read too slowly. If a handler does not answer, the server does.
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "starling/stream/sockets/http_server.hpp"

namespace starling::stream {
namespace {

namespace asio = boost::asio;

/// Returns handlers that are never called, because the clients of these tests send no request.
HttpHandlers silent_handlers() {
  return {.admit = [](const HttpHead&) { return std::nullopt; },
          .handle = [](HttpRequest, HttpRespond) {},
          .refuse =
              [](unsigned status, std::string_view sentence) {
                return HttpAnswer{.status = status, .body = std::string(sentence)};
              }};
}

class HttpLimits : public testing::Test {
 protected:
  asio::ip::tcp::socket connect(const HttpServer& server) {
    const std::string endpoint = server.endpoint();
    const auto port =
        static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
    asio::ip::tcp::socket socket(loop);
    socket.connect({asio::ip::make_address("127.0.0.1"), port});
    return socket;
  }

  /// Runs the loop until the server has closed the connection.
  bool is_closed_by_server(asio::ip::tcp::socket& socket) {
    bool is_closed = false;
    char byte = 0;
    socket.async_read_some(asio::buffer(&byte, 1),
                           [&](const boost::system::error_code& error, std::size_t) {
                             is_closed = static_cast<bool>(error);
                             loop.stop();
                           });
    loop.restart();
    loop.run_for(std::chrono::seconds(30));
    return is_closed;
  }

  /// Sends `text` and returns what the server sends until it closes the connection.
  std::string exchange(const HttpServer& server, std::string_view text) {
    auto socket = connect(server);
    asio::write(socket, asio::buffer(text));
    std::string answer;
    asio::async_read(socket, asio::dynamic_buffer(answer),
                     [&](const boost::system::error_code&, std::size_t) { loop.stop(); });
    loop.restart();
    loop.run_for(std::chrono::seconds(30));
    return answer;
  }

  static HttpHandlers answering_handlers() {
    HttpHandlers handlers = silent_handlers();
    handlers.handle = [](HttpRequest, const HttpRespond& respond) { respond({.body = "ok\n"}); };
    return handlers;
  }

  HttpHandlers counting_handlers() {
    HttpHandlers handlers = silent_handlers();
    handlers.timed_out = [this] { ++timeouts; };
    return handlers;
  }

  void run_until(const std::function<bool()>& is_so) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!is_so() && std::chrono::steady_clock::now() < until) {
      loop.restart();
      loop.run_one_for(std::chrono::milliseconds(100));
    }
    EXPECT_TRUE(is_so());
  }

  /// Runs the loop until an answer has come. Returns the answer, or an empty text if the server has
  /// closed the connection.
  std::string answer_of(asio::ip::tcp::socket& socket) {
    std::string answer;
    bool is_done = false;
    asio::async_read_until(socket, asio::dynamic_buffer(answer), "\r\n\r\n",
                           [&](const boost::system::error_code&, std::size_t) { is_done = true; });
    run_until([&] { return is_done; });
    return answer;
  }

  std::string ask(asio::ip::tcp::socket& socket) {
    boost::system::error_code ignored;
    asio::write(socket, asio::buffer(std::string_view("GET / HTTP/1.1\r\nHost: a\r\n\r\n")),
                ignored);
    return answer_of(socket);
  }

  static HttpOptions hurried() {
    HttpOptions options;
    options.timeout = std::chrono::milliseconds(20);
    return options;
  }

  asio::io_context loop;
  int timeouts = 0;
};

TEST_F(HttpLimits, AConnectionThatHasSentNothingGivesWayBeforeOneThatHas) {
  HttpServer server(loop, {.handshakes_max = 16}, answering_handlers());  // four of each address
  auto slow = connect(server);
  asio::write(slow, asio::buffer(std::string_view("GET / HTTP/1.1\r\nHost: a\r\n")));
  run_until([&] { return server.handshakes().count() == 1; });
  auto next = connect(server);
  EXPECT_TRUE(ask(next).starts_with("HTTP/1.1 200")) << "the server has heard the first one, too";
  std::vector<asio::ip::tcp::socket> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(connect(server));
  run_until([&] { return server.refused_count() == 38; });
  EXPECT_EQ(server.handshakes().count(), 4u);
  asio::write(slow, asio::buffer(std::string_view("\r\n")));
  EXPECT_TRUE(answer_of(slow).starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(ask(next).starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(is_closed_by_server(silent.front()));
}

TEST_F(HttpLimits, ManySilentConnectionsDoNotShutOthersOut) {
  HttpServer server(loop, {.handshakes_max = 16, .timeout = std::chrono::hours(1)},
                    answering_handlers());
  std::vector<asio::ip::tcp::socket> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(connect(server));
  auto late = connect(server);
  EXPECT_TRUE(ask(late).starts_with("HTTP/1.1 200"));
  EXPECT_EQ(server.handshakes().count(), 4u);
  EXPECT_EQ(server.refused_count(), 37u);
}

TEST_F(HttpLimits, ARequestThatIsBeingAnsweredGivesNoPlaceToItsOwnClient) {
  HttpRespond held;
  HttpHandlers handlers = silent_handlers();
  handlers.handle = [&](HttpRequest, HttpRespond respond) { held = std::move(respond); };
  HttpServer server(loop, {.connections_max = 1}, handlers);
  auto first = connect(server);
  asio::write(first, asio::buffer(std::string_view("GET / HTTP/1.1\r\nHost: a\r\n\r\n")));
  run_until([&] { return static_cast<bool>(held); });
  const std::string refused =
      exchange(server, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 503")) << refused;
  EXPECT_NE(refused.find("http-connections-max (1)"), std::string::npos);
  held({.body = "late, but here"});
  EXPECT_NE(answer_of(first).find("late, but here"), std::string::npos);
  EXPECT_EQ(server.refused_count(), 1u);
}

TEST_F(HttpLimits, ARequestOfAClientWithFewerTakesThePlaceOfTheNewestOfAnother) {
  std::vector<HttpRespond> held;
  HttpHandlers handlers = silent_handlers();
  handlers.admit = [](HttpHead& head) -> std::optional<HttpAnswer> {
    head.principal = zmtp::PrincipalId{static_cast<std::uint32_t>(head.target.size())};
    return std::nullopt;
  };
  handlers.handle = [&](const HttpRequest& request, HttpRespond respond) {
    if (request.head.target == "/") return respond({.body = "ok\n"});
    held.push_back(std::move(respond));
  };
  HttpServer server(loop, {.connections_max = 2}, handlers);
  auto first = connect(server);
  auto second = connect(server);
  for (auto* const socket : {&first, &second}) {
    const std::size_t before = held.size();
    asio::write(*socket, asio::buffer(std::string_view("GET /other HTTP/1.1\r\nHost: a\r\n\r\n")));
    run_until([&] { return held.size() == before + 1; });
  }
  auto third = connect(server);
  EXPECT_TRUE(ask(third).starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(is_closed_by_server(second));
  held[0]({.body = "still here"});
  EXPECT_NE(answer_of(first).find("still here"), std::string::npos);
  EXPECT_EQ(server.requests().gave_way().count, 1u);
}

TEST_F(HttpLimits, ABodyThatIsStillToComeGivesWayToAWholeRequest) {
  HttpServer server(loop, {.connections_max = 1}, answering_handlers());
  auto slow = connect(server);
  asio::write(slow, asio::buffer(std::string_view(
                        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nslow")));
  run_until([&] { return server.requests().count() == 1; });
  auto whole = connect(server);
  EXPECT_TRUE(ask(whole).starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(is_closed_by_server(slow));
}

TEST_F(HttpLimits, AConnectionThatSaysNothingIsClosedInTime) {
  HttpServer server(loop, hurried(), counting_handlers());
  auto silent = connect(server);
  EXPECT_TRUE(is_closed_by_server(silent));
  EXPECT_EQ(timeouts, 0);  // no time-out: a client may keep a connection for a later request
}

TEST_F(HttpLimits, AHeadThatDoesNotEndIsClosedInTime) {
  HttpServer server(loop, hurried(), counting_handlers());
  EXPECT_EQ(exchange(server, "GET / HTTP/1.1\r\nHost: a\r\nSlow:"), "");
  EXPECT_EQ(server.handshakes().count(), 0u);
  EXPECT_EQ(timeouts, 1);
}

TEST_F(HttpLimits, ABodyThatDoesNotEndIsClosedInTime) {
  HttpServer server(loop, hurried(), counting_handlers());
  EXPECT_EQ(exchange(server, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nslow"), "");
  EXPECT_EQ(
      exchange(server, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab"),
      "");
  EXPECT_EQ(server.requests().count(), 0u);
  EXPECT_EQ(timeouts, 2);
}

TEST_F(HttpLimits, ARequestThatNoHandlerAnswersIsRefusedInTime) {
  HttpRespond late;
  HttpHandlers handlers = silent_handlers();
  handlers.handle = [&](HttpRequest, HttpRespond respond) { late = std::move(respond); };
  HttpServer server(loop, hurried(), handlers);
  const std::string answer =
      exchange(server, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503")) << answer;
  EXPECT_NE(answer.find("was not ready in time"), std::string::npos);
  late({.body = "too late"});  // has no effect
}

TEST_F(HttpLimits, ARequestRestsAndOthersDoNotWaitForIt) {
  HttpHandlers handlers = answering_handlers();
  handlers.rest = [](const HttpHead& head) {
    return head.target == "/greedy" ? std::chrono::milliseconds(50) : std::chrono::milliseconds(0);
  };
  HttpServer server(loop, {}, handlers);
  auto greedy = connect(server);
  const auto since = std::chrono::steady_clock::now();
  asio::write(greedy, asio::buffer(std::string_view("GET /greedy HTTP/1.1\r\nHost: a\r\n\r\n")));
  auto other = connect(server);
  EXPECT_TRUE(ask(other).starts_with("HTTP/1.1 200"));
  EXPECT_EQ(greedy.available(), 0u) << "the other is answered first";
  EXPECT_TRUE(answer_of(greedy).starts_with("HTTP/1.1 200"));
  EXPECT_GE(std::chrono::steady_clock::now() - since, std::chrono::milliseconds(50));
}

TEST_F(HttpLimits, AConnectionThatRestsIsClosedWithTheServer) {
  HttpHandlers handlers = answering_handlers();
  int asked = 0;
  handlers.rest = [&](const HttpHead&) {
    ++asked;
    return std::chrono::hours(1);
  };
  HttpServer server(loop, {}, handlers);
  auto client = connect(server);
  asio::write(client, asio::buffer(std::string_view("GET / HTTP/1.1\r\nHost: a\r\n\r\n")));
  run_until([&] { return asked == 1; });
  server.close();
  EXPECT_TRUE(is_closed_by_server(client));
}

TEST_F(HttpLimits, AConnectionIsHandedOverAndNoLongerCounted) {
  std::vector<HandedOver> handed_over;
  HttpHandlers handlers = silent_handlers();
  handlers.handle = [&](HttpRequest, const HttpRespond& respond) {
    respond({.status = 101,
             .body = {},
             .fields = {{"Upgrade", "echo"}},
             .hand_over = [&](HandedOver connection) {
               asio::write(connection.socket, asio::buffer(connection.received));
               handed_over.push_back(std::move(connection));
               loop.stop();
             }});
  };
  HttpServer server(loop, {.connections_max = 1}, handlers);
  for (int i = 0; i < 3; ++i) {
    auto socket = connect(server);
    asio::write(socket, asio::buffer(std::string_view("GET / HTTP/1.1\r\nHost: a\r\n\r\nearly")));
    loop.restart();
    loop.run_for(std::chrono::seconds(30));
    ASSERT_EQ(handed_over.size(), 1u);
    EXPECT_EQ(server.requests().count(), 0u);
    handed_over.clear();
    std::string answer;
    boost::system::error_code error;
    asio::read(socket, asio::dynamic_buffer(answer), error);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 101 Switching Protocols\r\n")) << answer;
    EXPECT_TRUE(answer.ends_with("\r\n\r\nearly")) << answer;
    EXPECT_EQ(answer.find("Connection: close"), std::string::npos) << answer;
    EXPECT_EQ(answer.find("Content-Length"), std::string::npos) << answer;
  }
}

TEST_F(HttpLimits, AHeadRequestHandsNothingOver) {
  HttpHandlers handlers = silent_handlers();
  bool is_handed_over = false;
  handlers.handle = [&](HttpRequest, const HttpRespond& respond) {
    respond({.body = {}, .hand_over = [&](HandedOver) { is_handed_over = true; }});
  };
  HttpServer server(loop, {}, handlers);
  const std::string answer = exchange(server, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_FALSE(is_handed_over);
}

TEST_F(HttpLimits, AClientThatDoesNotReadIsClosedInTime) {
  HttpHandlers handlers = counting_handlers();
  handlers.handle = [](HttpRequest, const HttpRespond& respond) {
    respond({.body = std::string(std::size_t{64} << 20, 'x')});
  };
  HttpServer server(loop, hurried(), handlers);
  auto socket = connect(server);
  asio::write(socket, asio::buffer(std::string_view("GET / HTTP/1.1\r\nHost: a\r\n\r\n")));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  bool was_open = false;
  while (std::chrono::steady_clock::now() < until &&
         !(was_open && server.requests().count() == 0)) {
    loop.restart();
    loop.run_one_for(std::chrono::milliseconds(100));
    was_open = was_open || server.requests().count() == 1;
  }
  EXPECT_TRUE(was_open);
  EXPECT_EQ(server.requests().count(), 0u);
  EXPECT_EQ(timeouts, 1);
}

/// A POST whose body has 6,000 bytes. Only the first `sent` of them are sent.
std::string long_post(std::string_view target, std::size_t sent = 6000) {
  return "POST " + std::string(target) + " HTTP/1.1\r\nHost: a\r\nContent-Length: 6000\r\n\r\n" +
         std::string(sent, 'x');
}

class HttpBodiesLimit : public HttpLimits {
 protected:
  /// Each target is an owner of its own.
  HttpHandlers handlers_of_owners() {
    HttpHandlers handlers = silent_handlers();
    handlers.admit = [](HttpHead& head) {
      head.payer.owner.number = std::hash<std::string>()(head.target);
      return std::nullopt;
    };
    handlers.handle = [this](HttpRequest request, HttpRespond respond) {
      if (request.head.target == "/kept")
        kept.push_back({std::move(request), std::move(respond)});
      else
        respond({.body = "ok\n"});
    };
    return handlers;
  }
  struct Kept {
    HttpRequest request;
    HttpRespond respond;
  };
  std::vector<Kept> kept;
};

TEST_F(HttpBodiesLimit, ABodyWaitsForRoomUntilAnotherBodyIsAnswered) {
  HttpServer server(loop, {.bodies_bytes_max = 10'000}, handlers_of_owners());
  auto first = connect(server);
  asio::write(first, asio::buffer(long_post("/kept")));
  run_until([&] { return kept.size() == 1; });
  auto second = connect(server);
  asio::write(second, asio::buffer(long_post("/kept")));
  auto other = connect(server);
  asio::write(other, asio::buffer(long_post("/other")));
  EXPECT_TRUE(answer_of(other).starts_with("HTTP/1.1 200"))
      << "another owner has a part of its own";
  EXPECT_EQ(kept.size(), 1u);
  EXPECT_EQ(server.body_bytes(), 6000u);
  kept[0].respond({.body = "ok\n"});
  run_until([&] { return kept.size() == 2; });
  EXPECT_EQ(kept[1].request.body.size(), 6000u);
  EXPECT_EQ(server.body_bytes(), 6000u);
}

TEST_F(HttpBodiesLimit, ABodyThatFindsNoRoomInTimeIsRefused) {
  HttpOptions options = hurried();
  options.bodies_bytes_max = 10'000;
  HttpServer server(loop, options, handlers_of_owners());
  auto first = connect(server);
  asio::write(first, asio::buffer(long_post("/other", 100)));
  auto second = connect(server);
  run_until([&] { return server.body_bytes() == 6000; });
  asio::write(second, asio::buffer(long_post("/other", 0)));
  auto third = connect(server);
  asio::write(third, asio::buffer(long_post("/other", 6000)));
  // The first body is late and gives its room to one of the two that wait. The time of the other
  // one is over before that room is free again.
  const bool is_second_refused = answer_of(second).starts_with("HTTP/1.1 503");
  const bool is_third_refused = answer_of(third).starts_with("HTTP/1.1 503");
  EXPECT_TRUE(is_second_refused || is_third_refused);
  auto last = connect(server);
  asio::write(last, asio::buffer(long_post("/other", 6000)));
  EXPECT_TRUE(answer_of(last).starts_with("HTTP/1.1 200")) << "a slow sender keeps no room";
}

TEST_F(HttpBodiesLimit, AHandlerIsToldThatItsClientHasLeft) {
  bool has_left = false;
  std::shared_ptr<HttpWait> wait;
  HttpHandlers handlers = silent_handlers();
  handlers.handle = [&](const HttpRequest& request, const HttpRespond&) {
    wait = request.wait;
    wait->on_end([&] { has_left = true; });
  };
  HttpServer server(loop, {}, handlers);
  auto client = connect(server);
  asio::write(client, asio::buffer(long_post("/")));
  run_until([&] { return wait != nullptr; });
  EXPECT_FALSE(wait->is_over());
  client.close();
  run_until([&] { return has_left; });
  EXPECT_TRUE(wait->is_over());
}

TEST_F(HttpBodiesLimit, AHandlerIsToldThatTheTimeHasPassedAndMayStillAnswer) {
  HttpHandlers handlers = silent_handlers();
  handlers.handle = [](HttpRequest request, const HttpRespond& respond) {
    request.wait->on_end([respond] { respond({.status = 503, .body = "half of it"}); });
  };
  HttpServer server(loop, hurried(), handlers);
  EXPECT_TRUE(exchange(server, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                  .ends_with("half of it"));
}

}  // namespace
}  // namespace starling::stream
