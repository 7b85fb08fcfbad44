// SPDX-License-Identifier: Apache-2.0
// Names the socket calls that the library failing_sockets makes fail: see call_fault.hpp.
#pragma once

#include <array>
#include <string_view>

namespace starling::stream {

/// The calls that the library defines. Nothing depends on the results of shutdown and close.
inline constexpr std::array<std::string_view, 17> socket_calls{
    "accept",  "accept4",     "bind",        "epoll_create1", "epoll_ctl", "epoll_wait",
    "eventfd", "getpeername", "getsockname", "getsockopt",    "ioctl",     "listen",
    "recv",    "recvmsg",     "sendmsg",     "setsockopt",    "socket"};

}  // namespace starling::stream
