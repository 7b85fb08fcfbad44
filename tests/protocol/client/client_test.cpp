// SPDX-License-Identifier: Apache-2.0
// Tests the blocking client against a scripted server. The client keeps as many requests under way
// as its credit allows. It resends when the server is silent or has forgotten the session. It
// returns refusals as values.
#include "starling/protocol/client/client.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/protocol/client/fake_server.hpp"

namespace starling::protocol {
namespace {

using test::FakeServer;
using test::hello_reply;

constexpr std::uint64_t ids[] = {1, 2, 3};
constexpr std::int64_t times_us[] = {4, 5, 6};
constexpr RemoveObjects batch{ids, times_us};

ReplyHead head_of(const DecodedRequest& request) {
  return {request.head.request_id, request.head.sequence};
}

Frame accept_all(const DecodedRequest& request) {
  return encode_batch_reply(head_of(request), {.accepted = credit_rows(request.body)});
}

bool is_hello(const DecodedRequest& request) {
  return std::holds_alternative<Hello>(request.body);
}

struct ClientTest : ::testing::Test {
  ClientOptions options(const FakeServer& server) const {
    return {.commands = server.endpoint(), .timeout_ms = 10'000, .reconnect_after_ms = 10'000};
  }
  zmq::context_t context;
};

TEST_F(ClientTest, ItsSessionEndsWithItUnlessARequestIsUnanswered) {
  FakeServer server(context, [](const DecodedRequest& request) -> std::optional<Frame> {
    if (is_hello(request)) return hello_reply(7, 1);
    return std::nullopt;
  });
  { const Client client(context, options(server)); }
  EXPECT_EQ(server.ended(), (std::vector<std::uint64_t>{7}));
  {
    Client client(context, options(server));
    EXPECT_FALSE(client.post(batch));
  }
  EXPECT_EQ(server.ended().size(), 1u) << "the server may not have the batch yet";
}

TEST_F(ClientTest, AServerThatIsGoneHoldsNoClient) {
  std::optional<Client> client;
  {
    FakeServer server(context, [](const DecodedRequest&) { return hello_reply(7, 1); });
    client.emplace(context, options(server));
  }
  client.reset();
}

TEST_F(ClientTest, PostedBatchesAreTotalled) {
  FakeServer server(context, [](const DecodedRequest& request) -> std::optional<Frame> {
    if (is_hello(request)) return hello_reply(7, 1);
    return encode_batch_reply(
        head_of(request),
        {.accepted = 1, .late = 1, .rejected = 1, .reasons = {{RowReason::future, 1}}});
  });
  Client client(context, options(server));
  for (int time = 0; time < 100; ++time) EXPECT_FALSE(client.post(batch));
  const BatchTotals totals = client.flush();
  EXPECT_EQ(totals.accepted, 100u);
  EXPECT_EQ(totals.late, 100u);
  EXPECT_EQ(totals.rejected_by_reason[static_cast<std::size_t>(RowReason::future)], 100u);
  EXPECT_FALSE(totals.first_refusal);
  EXPECT_EQ(client.flush().accepted, 0u);
}

TEST_F(ClientTest, NoMoreRowsAreUnderWayThanTheCreditAllows) {
  std::atomic<int> answered = 0;
  FakeServer server(context, [&](const DecodedRequest& request) -> std::optional<Frame> {
    if (is_hello(request)) return hello_reply(7, 1, {.credit_rows = 6});
    // The credit covers two batches. So the third batch may arrive only after the first batch was
    // answered.
    EXPECT_LE(request.head.sequence, static_cast<std::uint64_t>(answered + 2));
    ++answered;
    return accept_all(request);
  });
  Client client(context, options(server));
  for (int time = 0; time < 20; ++time) EXPECT_FALSE(client.post(batch));
  EXPECT_EQ(client.flush().accepted, 60u);
}

TEST_F(ClientTest, ALostReplyIsAskedForAgainUnderTheSameNumber) {
  std::set<std::uint64_t> seen;
  FakeServer server(context, [&](const DecodedRequest& request) -> std::optional<Frame> {
    if (is_hello(request)) return hello_reply(7, 1);
    if (seen.insert(request.head.sequence).second) return std::nullopt;
    return accept_all(request);
  });
  ClientOptions quick = options(server);
  quick.reconnect_after_ms = 100;
  Client client(context, quick);
  EXPECT_FALSE(client.post(batch));
  EXPECT_FALSE(client.post(batch));
  EXPECT_EQ(client.flush().accepted, 6u);
  // Only the first four requests are compared: on a busy machine the client may resend more than
  // once.
  const std::vector<RequestHead> expected{{1, 7, 1}, {2, 7, 2}, {1, 7, 1}, {2, 7, 2}};
  std::vector<RequestHead> received = server.received();
  received.resize(expected.size());
  EXPECT_EQ(received, expected);
}

TEST_F(ClientTest, AForgottenSessionIsReplacedAndTheBatchResent) {
  std::uint64_t sessions = 0;
  FakeServer server(context, [&](const DecodedRequest& request) -> std::optional<Frame> {
    if (is_hello(request)) {
      ++sessions;
      return hello_reply(sessions, 10 + sessions);
    }
    if (request.head.session == 1)
      return encode_error(head_of(request), {{ErrorCode::unknown_session, "Say hello."}, 0});
    return accept_all(request);
  });
  Client client(context, options(server));
  EXPECT_EQ(client.epoch(), 11u);
  const auto reply = client.remove_objects(batch);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->accepted, 3u);
  EXPECT_EQ(client.epoch(), 12u);
}

TEST_F(ClientTest, ARefusalIsAValueWithItsSentence) {
  FakeServer server(context, [](const DecodedRequest& request) -> std::optional<Frame> {
    if (is_hello(request)) return hello_reply(7, 1);
    return encode_error(head_of(request), {{ErrorCode::not_manual, "Ticks follow the clock."}, 2});
  });
  Client client(context, options(server));
  const auto tick = client.advance_tick(5);
  ASSERT_FALSE(tick);
  EXPECT_EQ(tick.problem().code, ErrorCode::not_manual);
  EXPECT_THROW(static_cast<void>(client.advance_tick(5).value()), RefusedError);
  EXPECT_FALSE(client.post(batch));
  EXPECT_EQ(client.flush().first_refusal->code, ErrorCode::not_manual);
}

TEST_F(ClientTest, ABusyServerIsAskedAgain) {
  std::atomic<int> asked = 0;
  FakeServer server(context, [&](const DecodedRequest& request) -> std::optional<Frame> {
    if (is_hello(request)) return hello_reply(7, 1);
    if (++asked < 4) return encode_error(head_of(request), {{ErrorCode::busy, "Later."}, 0});
    return encode_stats(head_of(request), {{{"ticks_total", 3}}});
  });
  Client client(context, options(server));
  const auto stats = client.get_stats();
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->front().first, "ticks_total");
  EXPECT_EQ(asked, 4);
}

TEST_F(ClientTest, ASilentServerEndsInATimeoutThatNamesIt) {
  FakeServer server(context, [](const DecodedRequest&) { return std::nullopt; });
  ClientOptions impatient = options(server);
  impatient.timeout_ms = 50;
  try {
    Client client(context, impatient);
    FAIL() << "connected without an answer";
  } catch (const TimeoutError& error) {
    EXPECT_NE(std::string(error.what()).find(server.endpoint()), std::string::npos);
  }
}

TEST_F(ClientTest, AServerThatIsNotThereIsGivenUpAfterTheTimeToConnect) {
  ClientOptions nobody{.commands = "tcp://127.0.0.1:1", .connect_timeout_ms = 60};
  try {
    Client client(context, nobody);
    FAIL() << "connected without an answer";
  } catch (const TimeoutError& error) {
    const std::string sentence = error.what();
    EXPECT_NE(sentence.find("did not answer within 60 ms"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("starling serve"), std::string::npos) << sentence;
  }
}

TEST_F(ClientTest, ARefusedConnectionIsToldLongBeforeTheTimeToConnect) {
  try {
    Client client(context, {.commands = "tcp://127.0.0.1:1", .refused_timeout_ms = 100});
    FAIL() << "connected without a server";
  } catch (const TimeoutError& error) {
    const std::string sentence = error.what();
    EXPECT_NE(sentence.find("Nothing listens at tcp://127.0.0.1:1, "), std::string::npos)
        << sentence;
  }
}

// A proxy takes connections and ends them until the server behind it is up.
TEST_F(ClientTest, ManyCutHandshakesDoNotEndTheFirstConnection) {
  constexpr int cuts = 60;
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int reuse = 1;  // so that the server can have the port after the proxy
  ASSERT_EQ(::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse)), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), length), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  const std::string endpoint = "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  std::optional<FakeServer> server;
  const std::jthread proxy([&] {
    for (int i = 0; i < cuts; ++i) ::close(::accept(listener, nullptr, nullptr));
    ::close(listener);
    server.emplace(
        context, [](const DecodedRequest&) { return hello_reply(7, 1); }, endpoint);
  });
  try {
    const Client client(context, {.commands = endpoint, .refused_timeout_ms = 10'000});
  } catch (const TimeoutError& error) {
    ::shutdown(listener, SHUT_RDWR);  // ends the proxy
    ADD_FAILURE() << error.what();
  }
}

TEST_F(ClientTest, AnotherSocketIsNoServerOfCommands) {
  zmq::socket_t results(context, zmq::socket_type::xpub);
  results.bind("tcp://127.0.0.1:*");
  const std::string endpoint = results.get(zmq::sockopt::last_endpoint);
  try {
    Client client(context, {.commands = endpoint});
    FAIL() << "connected to a socket of results";
  } catch (const EndpointError& error) {
    const std::string sentence = error.what();
    EXPECT_NE(sentence.find(endpoint), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("it may be the results endpoint"), std::string::npos) << sentence;
  }
}

TEST_F(ClientTest, NamesAreAnsweredInTheOrderAsked) {
  FakeServer server(context, [](const DecodedRequest& request) -> std::optional<Frame> {
    if (is_hello(request)) return hello_reply(7, 1);
    EXPECT_TRUE(std::ranges::equal(std::get<GetNames>(request.body).object_ids, ids));
    return encode_names(head_of(request), {5, 6, {"a", "", "c"}});
  });
  Client client(context, options(server));
  const auto names = client.get_names(ids);
  ASSERT_TRUE(names);
  EXPECT_EQ(names->epoch, 5u);
  EXPECT_EQ(names->name_count, 6u);
  EXPECT_EQ(names->texts, (std::vector<std::string>{"a", "", "c"}));
}

TEST_F(ClientTest, AnAnswerWithTooFewNamesIsRefused) {
  FakeServer server(context, [](const DecodedRequest& request) -> std::optional<Frame> {
    if (is_hello(request)) return hello_reply(7, 1);
    return encode_names(head_of(request), {5, 6, {"a"}});
  });
  Client client(context, options(server));
  const auto names = client.get_names(ids);
  ASSERT_FALSE(names);
  EXPECT_EQ(names.problem().code, ErrorCode::malformed);
}

TEST_F(ClientTest, AllPagesOfStreamsAreFetched) {
  FakeServer server(context, [](const DecodedRequest& request) -> std::optional<Frame> {
    if (is_hello(request)) return hello_reply(7, 1);
    const std::uint64_t page = std::get<ListStreams>(request.body).page;
    Streams reply{.stream_count = 2};
    if (page != 5) reply.streams = {{.name = page == 0 ? "a" : "b", .query_count = page}};
    reply.next_page = page == 0 ? 5 : page == 5 ? 9 : 0;
    return encode_streams(head_of(request), reply);
  });
  Client client(context, options(server));
  const auto streams = client.streams();
  ASSERT_TRUE(streams);
  ASSERT_EQ(streams->size(), 2u);
  EXPECT_EQ(streams->at(0).name, "a");
  EXPECT_EQ(streams->at(1).name, "b");
  EXPECT_EQ(streams->at(1).query_count, 9u);
}

TEST_F(ClientTest, PagesThatDoNotGoOnAreRefused) {
  FakeServer server(context, [](const DecodedRequest& request) -> std::optional<Frame> {
    if (is_hello(request)) return hello_reply(7, 1);
    if (std::holds_alternative<ListStreams>(request.body))
      return encode_streams(head_of(request), {.next_page = 3});
    if (std::holds_alternative<ListQueries>(request.body))
      return encode_queries(head_of(request), {.next_page = 3});
    return encode_objects(head_of(request), {.next_page = 3});
  });
  Client client(context, options(server));
  const auto expect_malformed = [](const auto& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.problem().code, ErrorCode::malformed);
  };
  expect_malformed(client.streams());
  expect_malformed(client.queries("riders"));
  expect_malformed(client.objects_in({0, 0, 1, 1}));
  expect_malformed(client.objects(ids));  // neither objects nor missing ids
}

TEST_F(ClientTest, AServerThatIsOlderThanAReadOfObjectsRefusesIt) {
  FakeServer server(context, [](const DecodedRequest& request) -> std::optional<Frame> {
    if (is_hello(request)) return hello_reply(7, 1, {.page_rows_max = 0});
    return encode_error(head_of(request), {{ErrorCode::unknown_request, "Unknown."}, 1});
  });
  Client client(context, options(server));
  const auto objects = client.objects(ids);
  ASSERT_FALSE(objects);
  EXPECT_EQ(objects.problem().code, ErrorCode::unknown_request);
  EXPECT_EQ(client.streams().problem().code, ErrorCode::unknown_request);
}

TEST_F(ClientTest, ATextThatIsNoEndpointIsNamed) {
  try {
    Client client(context, {.commands = "nonsense"});
    FAIL() << "connected to nonsense";
  } catch (const EndpointError& error) {
    EXPECT_STREQ(error.what(),
                 "cannot connect to 'nonsense': Invalid argument; an endpoint looks like "
                 "tcp://127.0.0.1:7411");
  }
}

TEST_F(ClientTest, TheLimitThatRowsAreRejectedForIsTotalled) {
  FakeServer server(context, [](const DecodedRequest& request) -> std::optional<Frame> {
    if (is_hello(request)) return hello_reply(7, 1);
    return encode_batch_reply(head_of(request),
                              {.accepted = 2,
                               .rejected = 1,
                               .reasons = {{RowReason::too_many_objects, 1, {"objects-max", 3}}}});
  });
  Client client(context, options(server));
  EXPECT_FALSE(client.post(batch));
  EXPECT_EQ(client.flush().limit_by_reason[std::size_t(RowReason::too_many_objects)],
            (ReachedLimit{"objects-max", 3}));
}

TEST_F(ClientTest, AHelloThatIsRefusedForGoodThrows) {
  FakeServer server(context, [](const DecodedRequest& request) -> std::optional<Frame> {
    return encode_error(head_of(request), {{ErrorCode::wrong_version, "Too old."}, 0});
  });
  EXPECT_THROW(Client(context, options(server)), RefusedError);
}

}  // namespace
}  // namespace starling::protocol
