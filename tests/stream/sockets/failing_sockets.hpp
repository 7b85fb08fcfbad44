// SPDX-License-Identifier: Apache-2.0
// Has one socket call of another program fail. The library failing_sockets, which that program
// preloads, defines the C library's functions and passes them on. A file that both map says which
// call fails.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace starling::stream {

/// The calls that the library defines. Nothing depends on the results of shutdown and close.
inline constexpr std::array<std::string_view, 16> socket_calls{
    "accept",  "accept4",     "bind",        "epoll_create1", "epoll_ctl", "epoll_wait",
    "eventfd", "getpeername", "getsockname", "getsockopt",    "ioctl",     "listen",
    "recvmsg", "sendmsg",     "setsockopt",  "socket"};

/// Returns the index of a call.
constexpr std::uint32_t number_of_call(std::string_view name) {
  return static_cast<std::uint32_t>(std::ranges::find(socket_calls, name) - socket_calls.begin());
}

/// The content of the file. All zeros: nothing fails.
struct SocketFault {
  std::atomic<std::uint32_t> call;  ///< number_of_call()
  std::atomic<std::int32_t> left;   ///< calls until the one that fails; at most 0: none will
  std::atomic<std::int32_t> error;  ///< its errno
  std::atomic<bool> has_failed;
};
static_assert(std::atomic<std::int32_t>::is_always_lock_free);

/// The preloading program's environment has the path of the file under this name.
inline constexpr const char* socket_fault_variable = "STARLING_SOCKET_FAULT";

}  // namespace starling::stream
