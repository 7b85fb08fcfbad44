// SPDX-License-Identifier: Apache-2.0
// Makes each socket call of the program fail once, with the errors that a system gives for it. At
// the start, the server either works or exits with a sentence that gives the reason. Later it
// serves all endpoints as before, and stays exact.
#include "tests/stream/sockets/failing_sockets.hpp"

#include <cerrno>
#include <csignal>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <vector>

#include <boost/system/system_error.hpp>
#include <gmock/gmock.h>

#include "starling/knn/base/clocks.hpp"
#include "tests/stream/support/call_fault.hpp"
#include "tests/stream/support/event_client.hpp"
#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/program.hpp"
#include "tests/stream/support/socket_client.hpp"
#include "tests/stream/support/witness.hpp"

namespace starling::stream {
namespace {

class FailingSockets : public ProgramTest {
 protected:
  void fail(std::string_view call, int number, int error) {
    fault_->arm(index_of_call(socket_calls, call), static_cast<std::uint32_t>(number),
                static_cast<std::uint32_t>(error));
  }
  /// Returns whether the call was made and has failed. If not, the server makes fewer than `number`
  /// of these calls. Checks that it makes at least one.
  bool has_failed(int number) {
    if (fault_->disarm()) return true;
    EXPECT_GT(number, 1) << "the server makes no such call";
    return false;
  }

  std::unique_ptr<Program> start() {
    return std::make_unique<Program>(
        serve({"--tick", "2ms", "--io-threads", "1"}),
        std::vector<std::string>{"LD_PRELOAD=" STARLING_FAILING_SOCKETS, fault_.environment()});
  }

  /// Connects to all endpoints and sends requests. The server may cut a connection, but must not
  /// keep it open without an answer.
  void use_all_endpoints() {
    const std::int64_t since_us = steady_now_us();
    try {
      HttpClient(endpoint("http")).get("/metrics");
    } catch (const boost::system::system_error&) {
    }
    SocketClient socket(endpoint("http"));
    if (socket.connect() == 101) socket.stream().next_layer().close();
    EventClient events({.endpoint = endpoint("http"), .stream = "witness"});
    if (events.connect() == 200) {
      events.read_until([&] { return events.counts().snapshots > 0; });
      events.disconnect();
    }
    try {
      protocol::Client peer(context, {.commands = endpoint("commands"), .timeout_ms = 300});
      std::ignore = peer.get_stats();
    } catch (const std::exception&) {
    }
    EXPECT_LT(ms_since(since_us), 15'000) << "a connection is neither cut nor answered";
  }

  const CallFaultFile fault_{temporary_path("socket_fault")};
};

TEST_F(FailingSockets, LeaveAServerThatAnswersAndIsExact) {
  struct CallErrors {
    std::string_view call;
    std::vector<int> errors;
  };
  const std::vector<CallErrors> faults{{"accept", {EMFILE, ENOBUFS, ECONNABORTED, EPERM}},
                                       {"accept4", {EMFILE, ENOBUFS, ECONNABORTED, EPERM, EINTR}},
                                       {"recv", {ECONNRESET, EINTR}},
                                       {"recvmsg", {ECONNRESET, ETIMEDOUT, ENOMEM, EINTR}},
                                       {"sendmsg", {ECONNRESET, EPIPE, ENOBUFS, EINTR}},
                                       {"epoll_ctl", {ENOSPC, ENOMEM}},
                                       {"epoll_wait", {EINTR}},
                                       {"setsockopt", {ENOBUFS, EINVAL}},
                                       {"getpeername", {ENOTCONN}},
                                       {"getsockname", {ENOBUFS}},
                                       {"ioctl", {EIO}}};
  constexpr int numbers_max = 15;
  const auto program = start();
  ASSERT_TRUE(program->says("ready")) << program->said();
  Witness witness(context, {endpoint("commands"), endpoint("results"), endpoint("http")},
                  Witness::Ticks::by_the_clock, std::nullopt, 100);
  test::Random random(1);
  for (const auto& [call, errors] : faults)
    for (const int error : errors)
      for (int number = 1; number <= numbers_max; ++number) {
        SCOPED_TRACE(std::string(call) + ", call " + std::to_string(number) + ": " +
                     std::generic_category().message(error));
        fail(call, number, error);
        use_all_endpoints();
        witness.move_and_expect_exact(random);
        if (!has_failed(number)) break;
        witness.move_and_expect_exact(random);
        ASSERT_EQ(HttpClient(endpoint("http")).get("/metrics").status, 200u);
        ASSERT_FALSE(HasFailure());
      }
  program->send_signal(SIGTERM);
  EXPECT_EQ(program->exit_status(), 0) << program->said();
}

/// epoll_ctl is left out: Asio ignores a failure to watch its own eventfd.
TEST_F(FailingSockets, AtTheStartAreToldWithTheirReasonOrDoNotMatter) {
  int refused = 0;
  for (const std::string_view call : {"bind", "epoll_create1", "eventfd", "getsockname",
                                      "getsockopt", "ioctl", "listen", "setsockopt", "socket"})
    for (int number = 1; number < 100; ++number) {
      SCOPED_TRACE(std::string(call) + ", call " + std::to_string(number));
      fail(call, number, ENOBUFS);
      const auto program = start();
      const bool is_ready = program->says("ready");
      const bool is_over = !has_failed(number);
      if (is_ready) {
        ASSERT_EQ(HttpClient(endpoint("http")).get("/metrics").status, 200u);
        ASSERT_TRUE(client().get_stats());
        program->send_signal(SIGTERM);
        EXPECT_EQ(program->exit_status(), 0) << program->said();
      } else {
        ++refused;
        EXPECT_EQ(program->exit_status(), 1) << program->said();
        EXPECT_THAT(program->said(), testing::HasSubstr(std::generic_category().message(ENOBUFS)));
      }
      if (is_over) break;
    }
  EXPECT_GE(refused, 10);
}

}  // namespace
}  // namespace starling::stream
