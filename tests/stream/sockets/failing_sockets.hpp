// SPDX-License-Identifier: Apache-2.0
// Makes one socket call of another program fail. That program preloads the library failing_sockets,
// which defines the C library's functions and passes them on. A file that both map says which call
// fails.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace starling::stream {

/// The calls that the library defines. Nothing depends on the results of shutdown and close.
inline constexpr std::array<std::string_view, 17> socket_calls{
    "accept",  "accept4",     "bind",        "epoll_create1", "epoll_ctl", "epoll_wait",
    "eventfd", "getpeername", "getsockname", "getsockopt",    "ioctl",     "listen",
    "recv",    "recvmsg",     "sendmsg",     "setsockopt",    "socket"};

/// Returns the index of a call.
constexpr std::uint32_t number_of_call(std::string_view name) {
  return static_cast<std::uint32_t>(std::ranges::find(socket_calls, name) - socket_calls.begin());
}

/// The content of the file: which call fails next. All zeros: none does.
class SocketFault {
 public:
  /// The call with this number, counted from 1, fails with this errno.
  void arm(std::uint32_t call, std::uint32_t number, std::uint32_t error) {
    state_ = State{call} << 48 | State{error} << 32 | number;
  }
  /// Returns whether the call has failed. No other one does.
  bool disarm() { return count_in(state_.exchange(0)) == 0; }

  /// Counts a call. Returns the errno with which it fails; 0: it does not fail.
  int error_of(std::uint32_t call) {
    State state = state_;
    do {
      if (count_in(state) == 0 || state >> 48 != call) return 0;
    } while (!state_.compare_exchange_weak(state, state - 1));
    return count_in(state) == 1 ? static_cast<int>(state >> 32 & 0xffff) : 0;
  }

 private:
  using State = std::uint64_t;  ///< 16 bits for the call, 16 for errno, 32 for the calls left
  static std::uint32_t count_in(State state) { return static_cast<std::uint32_t>(state); }

  std::atomic<State> state_;
  static_assert(std::atomic<State>::is_always_lock_free);
};

/// Name of the environment variable that holds the path of the file.
inline constexpr const char* socket_fault_variable = "STARLING_SOCKET_FAULT";

}  // namespace starling::stream
