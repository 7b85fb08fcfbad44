// SPDX-License-Identifier: Apache-2.0
// Has each socket call of the program fail once, with each error that a system gives for it. The
// server starts with a sentence or not at all; later it cuts at most the connection that the call
// was for, and stays exact.
#include "tests/stream/sockets/failing_sockets.hpp"

#include <cerrno>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <vector>

#include <boost/system/system_error.hpp>
#include <gmock/gmock.h>
#include <sys/mman.h>

#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/program.hpp"
#include "tests/stream/support/socket_client.hpp"
#include "tests/stream/support/witness.hpp"

namespace starling::stream {
namespace {

class FailingSockets : public ProgramTest {
 protected:
  FailingSockets() {
    const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(SocketFault)) != 0) throw std::runtime_error(path_);
    fault_ = static_cast<SocketFault*>(
        mmap(nullptr, sizeof(SocketFault), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    close(file);
    if (fault_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~FailingSockets() override {
    munmap(fault_, sizeof(SocketFault));
    unlink(path_.c_str());
  }

  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer defines the same functions";
#endif
  }

  /// The call with this number, counted from 1, fails.
  void fail(std::string_view call, int number, int error) {
    fault_->left = 0;
    fault_->has_failed = false;
    fault_->call = number_of_call(call);
    fault_->error = error;
    fault_->left = number;
  }
  /// Returns whether the call was made and has failed. No other one fails.
  bool has_failed() {
    fault_->left = 0;
    return fault_->has_failed;
  }

  std::unique_ptr<Program> start() {
    return std::make_unique<Program>(
        serve({"--tick", "2ms", "--io-threads", "1"}),
        std::vector<std::string>{"LD_PRELOAD=" STARLING_FAILING_SOCKETS,
                                 std::string(socket_fault_variable) + "=" + path_});
  }

  /// Connects to all endpoints and asks something. Each connection may be cut.
  void use_all_endpoints() {
    try {
      HttpClient(endpoint("http")).get("/metrics");
    } catch (const boost::system::system_error&) {
    }
    SocketClient socket(endpoint("http"));
    if (socket.connect() == 101) socket.stream().next_layer().close();
    try {
      protocol::Client peer(context, {.commands = endpoint("commands"), .timeout_ms = 300});
      std::ignore = peer.get_stats();
    } catch (const std::exception&) {
    }
  }

  const std::string path_ = temporary_path("socket_fault");
  SocketFault* fault_ = nullptr;
};

struct CallErrors {
  std::string_view call;
  std::vector<int> errors;
};

TEST_F(FailingSockets, CutAtMostTheirConnectionAndTheServerStaysExact) {
  const std::vector<CallErrors> faults{{"accept", {EMFILE, ENOBUFS, ECONNABORTED, EPERM}},
                                       {"accept4", {EMFILE, ENOBUFS, ECONNABORTED, EPERM, EINTR}},
                                       {"recvmsg", {ECONNRESET, ETIMEDOUT, ENOMEM, EINTR}},
                                       {"sendmsg", {ECONNRESET, EPIPE, ENOBUFS, EINTR}},
                                       {"epoll_ctl", {ENOSPC, ENOMEM}},
                                       {"epoll_wait", {EINTR}},
                                       {"setsockopt", {ENOBUFS, EINVAL}},
                                       {"getpeername", {ENOTCONN}},
                                       {"getsockname", {ENOBUFS}},
                                       {"ioctl", {EIO}}};
  const auto program = start();
  ASSERT_TRUE(program->says("ready")) << program->said();
  Witness witness(context, {endpoint("commands"), endpoint("results"), endpoint("http")},
                  Witness::Ticks::by_the_clock, std::nullopt, 100);
  test::Random random(1);
  for (const auto& [call, errors] : faults)
    for (const int error : errors)
      for (int number = 1; number <= 30; ++number) {
        SCOPED_TRACE(std::string(call) + ", call " + std::to_string(number) + ": " +
                     std::generic_category().message(error));
        fail(call, number, error);
        use_all_endpoints();
        witness.move_and_expect_exact(random);
        if (!has_failed()) {
          EXPECT_GT(number, 1) << "the server makes no such call";
          break;
        }
        witness.move_and_expect_exact(random);
        ASSERT_EQ(HttpClient(endpoint("http")).get("/metrics").status, 200u);
        ASSERT_FALSE(HasFailure());
      }
  program->send_signal(SIGTERM);
  EXPECT_EQ(program->exit_status(), 0) << program->said();
}

/// Without epoll_ctl: Asio does not look whether its own eventfd is watched.
TEST_F(FailingSockets, AtTheStartAreToldWithTheirReasonOrDoNotMatter) {
  int refused = 0;
  for (const std::string_view call : {"bind", "epoll_create1", "eventfd", "getsockname",
                                      "getsockopt", "ioctl", "listen", "setsockopt", "socket"})
    for (int number = 1;; ++number) {
      SCOPED_TRACE(std::string(call) + ", call " + std::to_string(number));
      fail(call, number, ENOBUFS);
      const auto program = start();
      if (program->says("ready")) {
        const bool has_failed_before = has_failed();
        ASSERT_EQ(HttpClient(endpoint("http")).get("/metrics").status, 200u);
        ASSERT_TRUE(client().get_stats());
        program->send_signal(SIGTERM);
        EXPECT_EQ(program->exit_status(), 0) << program->said();
        if (!has_failed_before) {
          EXPECT_GT(number, 1) << "the server makes no such call";
          break;
        }
        continue;
      }
      ++refused;
      ASSERT_TRUE(has_failed());
      EXPECT_EQ(program->exit_status(), 1) << program->said();
      EXPECT_THAT(program->said(), testing::HasSubstr(std::generic_category().message(ENOBUFS)));
    }
  EXPECT_GE(refused, 10);
}

}  // namespace
}  // namespace starling::stream
