// SPDX-License-Identifier: Apache-2.0
// Tests the messages that `starling serve` sends to systemd, with a socket in systemd's place. A
// loop that stands still sends none.
#include <atomic>
#include <cstring>
#include <future>
#include <string>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/stream/support/program.hpp"

namespace starling::stream {
namespace {

/// A socket in the place of systemd's.
class Supervisor {
 public:
  /// `address` is as in NOTIFY_SOCKET: a path, or an abstract name after '@'.
  explicit Supervisor(std::string address) : address_(std::move(address)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, address_.data(), address_.size());
    if (address_[0] == '@') name.sun_path[0] = '\0';
    if (bind(descriptor_, reinterpret_cast<const sockaddr*>(&name),
             static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size())) != 0)
      throw std::runtime_error("cannot bind " + address_);
  }
  ~Supervisor() {
    close(descriptor_);
    if (address_[0] == '/') unlink(address_.c_str());
  }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// Returns the next message, or an empty text if none comes for `wait`.
  std::string next(std::chrono::milliseconds wait = patience) const {
    pollfd readable{.fd = descriptor_, .events = POLLIN, .revents = 0};
    if (poll(&readable, 1, static_cast<int>(wait.count())) <= 0) return "";
    char text[256];
    const ssize_t count = recv(descriptor_, text, sizeof(text), 0);
    return count < 0 ? "" : std::string(text, static_cast<std::size_t>(count));
  }

 private:
  std::string address_;
  int descriptor_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

class Watchdog : public ProgramTest {
 protected:
  void expect_ready_watchdog_and_stopping(const std::string& address) {
    const Supervisor supervisor(address);
    Program program(serve({"--tick", "10ms"}), {"NOTIFY_SOCKET=" + address, "WATCHDOG_USEC=30000"});
    ASSERT_EQ(supervisor.next(), "READY=1") << program.said();
    EXPECT_EQ(access(endpoints_path.c_str(), R_OK), 0) << "it is ready when its endpoints are";
    for (int count = 0; count < 5; ++count) EXPECT_EQ(supervisor.next(), "WATCHDOG=1");
    program.send_signal(SIGTERM);
    std::string message = supervisor.next();
    while (message == "WATCHDOG=1") message = supervisor.next();
    EXPECT_EQ(message, "STOPPING=1");
    EXPECT_EQ(program.exit_status(), 0);
  }
};

TEST_F(Watchdog, TheProgramTellsSystemdThatItIsReadyAliveAndStopping) {
  expect_ready_watchdog_and_stopping(temporary_path("notify"));
}

TEST_F(Watchdog, AnAbstractSocketIsToldToo) {
  expect_ready_watchdog_and_stopping("@starling_" + std::to_string(getpid()) + "_notify");
}

TEST_F(Watchdog, WithoutAWatchdogItTellsOnlyTheBeginAndTheEnd) {
  const std::string address = temporary_path("notify");
  const Supervisor supervisor(address);
  // WATCHDOG_PID names another process, so this one has no watchdog.
  Program program(serve({"--tick", "1ms"}),
                  {"NOTIFY_SOCKET=" + address, "WATCHDOG_USEC=1000", "WATCHDOG_PID=1"});
  ASSERT_EQ(supervisor.next(), "READY=1") << program.said();
  client().get_stats().value();
  program.send_signal(SIGTERM);
  EXPECT_EQ(supervisor.next(), "STOPPING=1");
  EXPECT_EQ(program.exit_status(), 0);
}

TEST_F(Watchdog, ASupervisorThatIsGoneDoesNotStopTheServer) {
  const std::string address = temporary_path("notify");
  Program program(serve({"--tick", "1ms"}), {"NOTIFY_SOCKET=" + address, "WATCHDOG_USEC=1000"});
  ASSERT_TRUE(program.says("ready")) << program.said();
  client().get_stats().value();
  program.send_signal(SIGTERM);
  EXPECT_EQ(program.exit_status(), 0);
}

TEST(WatchdogLoop, ALoopThatStandsStillIsNotAlive) {
  std::atomic<int> alive{0};
  std::atomic<bool> is_held{false};
  std::promise<void> go_on;
  std::promise<void> stands;
  ServerOptions options = manual_options();
  options.tick_period_us = 1000;
  options.alive.alive = [&] { ++alive; };
  options.alive.period_us = 1000;
  options.wall_now_us = [&, released = go_on.get_future().share()] {
    if (is_held.exchange(false)) {
      stands.set_value();
      released.wait();
    }
    return wall_now_us();
  };
  RunningServer server(options);
  ASSERT_TRUE(happens([&] { return alive >= 3; }));
  is_held = true;
  stands.get_future().wait();
  const int before = alive;
  const std::int64_t since_us = steady_now_us();
  ASSERT_TRUE(happens([&] { return steady_now_us() - since_us > 100'000; }));
  EXPECT_EQ(alive, before) << "100 periods have passed";
  go_on.set_value();
  EXPECT_TRUE(happens([&] { return alive > before; }));
}

}  // namespace
}  // namespace starling::stream
