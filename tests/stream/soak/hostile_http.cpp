// SPDX-License-Identifier: Apache-2.0
// Attacks over HTTP and WebSockets: see hostile_kinds.hpp.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tests/stream/soak/hostile_connection.hpp"
#include "tests/stream/soak/hostile_kinds.hpp"
#include "tests/stream/soak/hostile_requests.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

using test::Random;

constexpr std::size_t body_bytes_max = 1'048'576;  // of the server's --http-body-bytes-max

std::string host_and_token(const Attacker& attacker) {
  const std::string host = "Host: localhost\r\n";
  const std::string& token = attacker.principal.token;
  return token.empty() ? host : host + "Authorization: Bearer " + token + "\r\n";
}

std::string get(const Attacker& attacker, const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\n" + host_and_token(attacker) + "\r\n";
}

std::string with_body(const Attacker& attacker, const std::string& method_and_target,
                      const std::string& body) {
  return method_and_target + " HTTP/1.1\r\n" + host_and_token(attacker) +
         "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

std::string own_stream(const Attacker& attacker) {
  return "/v1/streams/" + hostile_stream(attacker.principal);
}

/// Sends `text` and reads the answers, again and again over one connection.
HostileStep repeatedly(const Attacker& attacker, std::string text) {
  auto socket = std::make_shared<HostileConnection>(attacker, attacker.endpoints.http);
  return [socket, text = std::move(text), has_asked = false](Random&) mutable {
    // The next text waits for a part of the answers, because bytes that wait here hurt no server.
    const bool is_answered = !socket->receive().empty();
    const bool asks = socket->is_sent() && (!has_asked || is_answered);
    has_asked = true;
    return socket->send(asks ? text : "");
  };
}

HostileStep slow_head(const Attacker& attacker, Random&) {
  auto socket = std::make_shared<HostileConnection>(attacker, attacker.endpoints.http);
  return [socket,
          text = "GET /v1/streams HTTP/1.1\r\n" + host_and_token(attacker) +
                 "X: " + std::string(8000, 'x'),
          at = std::size_t{0}](Random& random) mutable {
    return at == text.size() || !random.chance(0.1) || socket->send(text.substr(at++, 1));
  };
}

/// Returns a request that a careless parser takes for another one, or whose head is absurd.
std::string tricky_request(const Attacker& attacker, Random& random) {
  const std::string host = host_and_token(attacker);
  switch (random.below(10)) {
    case 0:  // two lengths
      return "POST /v1/objects HTTP/1.1\r\n" + host +
             "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /metrics "
             "HTTP/1.1\r\n" +
             host + "\r\n";
    case 1:
      return "POST /v1/objects HTTP/1.1\r\n" + host +
             "Content-Length: 5\r\nContent-Length: 50\r\n\r\nhello";
    case 2:
      return "POST /v1/objects HTTP/1.1\r\n" + host +
             "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n";
    case 3:  // deep JSON
      return "POST /v1/objects HTTP/1.1\r\n" + host +
             "Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n" +
             std::string(100'000, '[');
    case 4:  // a long head
      return "GET / HTTP/1.1\r\n" + host + "X: " + std::string(20'000, 'y') + "\r\n\r\n";
    case 5: {  // many requests at once
      std::string text;
      for (int count = 0; count < 50; ++count) text += "GET /metrics HTTP/1.1\r\n" + host + "\r\n";
      return text;
    }
    case 6:
      return "GET /v1/streams/" + attacker.stream + "/events HTTP/1.1\r\n" + host + "\r\n";
    case 7:
      return "GET /v1/neighbors?k=99999999999&x=1e400&y=nan HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    case 8:
      return "GET /../../etc/passwd HTTP/1.1\r\n" + host + "Range: bytes=0-0," +
             std::string(4000, ',') + "\r\n\r\n";
    default:
      return random_bytes(random, 20) + " / HTTP/9.9\r\n\r\n";
  }
}

HostileStep tricks(const Attacker& attacker, Random& random) {
  return in_pieces(attacker, attacker.endpoints.http, tricky_request(attacker, random), 8192,
                   static_cast<int>(random.below(20)));
}

/// Returns rows of one object that have tags in turn. Two rows that follow each other have
/// different columns.
const std::string& alternating_rows() {
  static const std::string body = [] {
    std::string rows = "[";
    for (std::uint64_t row = 0; rows.size() < body_bytes_max - 100; ++row)
      rows += R"({"id":"1000000","x":1,"y":1,"time":)" +
              std::to_string(1'700'000'000'000'000 + row) +
              (row % 2 == 0 ? R"(,"tags":1},)" : "},");
    rows.back() = ']';
    return rows;
  }();
  return body;
}

HostileStep alternating_columns(const Attacker& attacker, Random&) {
  return repeatedly(attacker, with_body(attacker, "POST /v1/objects", alternating_rows()));
}

HostileStep cut_body(const Attacker& attacker, Random& random) {
  std::string text = with_body(attacker, "POST /v1/objects", alternating_rows());
  text.resize(random.below(text.size()));
  return in_pieces(attacker, attacker.endpoints.http, std::move(text), 262'144, 1);
}

HostileStep rows(const Attacker& attacker, Random& random) {
  std::string body = "[";
  for (std::uint64_t row = 1 + random.below(500); row > 0; --row)
    body += R"({"id": ")" + std::to_string(hostile_object(attacker.principal, random.below(3000))) +
            R"(", "x": )" + std::to_string(-1e6 * random.unit()) + R"(, "y": 0},)";
  body.back() = ']';
  return repeatedly(attacker, with_body(attacker, "POST /v1/objects", body));
}

HostileStep lists(const Attacker& attacker, Random&) {
  std::string text;
  for (int count = 0; count < 20; ++count) text += get(attacker, "/v1/streams/" + attacker.stream);
  return repeatedly(attacker, std::move(text));
}

HostileStep neighbors(const Attacker& attacker, Random&) {
  std::string text;
  for (int count = 0; count < 20; ++count) text += get(attacker, "/v1/neighbors?k=1024&x=0&y=0");
  return repeatedly(attacker, std::move(text));
}

HostileStep queries(const Attacker& attacker, Random& random) {
  return repeatedly(attacker,
                    with_body(attacker, "PUT " + own_stream(attacker), R"({"on": "order"})") +
                        with_body(attacker,
                                  "PUT " + own_stream(attacker) + "/queries/" +
                                      std::to_string(random.below(100'000)),
                                  R"({"x": 0, "y": 0, "k": 1024})"));
}

HostileStep objects_and_stats(const Attacker& attacker, Random&) {
  std::string text;
  for (int count = 0; count < 20; ++count)
    text += get(attacker, "/v1/objects/1000000") + get(attacker, "/v1/stats") +
            get(attacker, "/v1/streams");
  return repeatedly(attacker, std::move(text));
}

/// Opens events and does not read them.
HostileStep events(const Attacker& attacker, Random& random) {
  auto socket = std::make_shared<HostileConnection>(attacker, attacker.endpoints.http, 1024);
  socket->send(get(attacker, "/v1/streams/" + attacker.stream + "/events"));
  return [socket, reads = random.chance(0.2)](Random&) {
    if (reads) socket->receive();
    return socket->send("");
  };
}

std::string web_socket_head(const Attacker& attacker) {
  return "GET /v1/ws HTTP/1.1\r\n" + host_and_token(attacker) +
         "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
}

/// Returns a binary message. Its mask is 0, which leaves the bytes as they are.
std::string web_socket_message(const std::string& bytes) {
  return "\x82\xfe" + big_endian(bytes.size(), 2) + std::string(4, '\0') + bytes;
}

HostileStep web_socket_sessions(const Attacker& attacker, Random&) {
  auto socket = std::make_shared<HostileConnection>(attacker, attacker.endpoints.http);
  socket->send(web_socket_head(attacker));
  return
      [socket, hello = web_socket_message(encoded({}, protocol::Hello{.client = "x"}))](Random&) {
        socket->receive();
        return socket->send(socket->is_sent() ? hello : "");
      };
}

HostileStep web_socket_garbage(const Attacker& attacker, Random& random) {
  std::string text = web_socket_head(attacker);
  if (random.chance(0.3)) text += "\x82\xff" + big_endian(random.next() >> 1, 8);
  text += random_bytes(random, random.below(4000));
  return in_pieces(attacker, attacker.endpoints.http, std::move(text), 2048,
                   static_cast<int>(random.below(100)));
}

HostileStep wrong_token(const Attacker& attacker, Random& random) {
  return in_pieces(attacker, attacker.endpoints.http,
                   "GET /v1/stats HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
                       std::to_string(random.next()) + "\r\n\r\n",
                   4096, 5);
}

}  // namespace

std::vector<HostileKind> kinds_of_http() {
  return {{"HTTP: slow head", slow_head, false},
          {"HTTP: tricks", tricks},
          {"HTTP: alternating columns", alternating_columns, false},
          {"HTTP: cut body", cut_body, false},
          {"HTTP: rows", rows},
          {"HTTP: lists", lists},
          {"HTTP: neighbors", neighbors},
          {"HTTP: queries", queries},
          {"HTTP: objects and stats", objects_and_stats},
          {"HTTP: events", events, false},
          {"HTTP: wrong token", wrong_token},
          {"WebSocket: sessions", web_socket_sessions},
          {"WebSocket: garbage", web_socket_garbage}};
}

}  // namespace starling::stream
