// SPDX-License-Identifier: Apache-2.0
// A library to preload, which defines functions of the C library: see failing_sockets.hpp.
#include "tests/stream/sockets/failing_sockets.hpp"

#include <cerrno>
#include <cstdarg>
#include <string_view>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/stream/support/call_fault.hpp"
#include "tests/support/replaced_function.hpp"

namespace starling::stream {
namespace {

bool fails(std::string_view call) {
  return call_fails(index_of_call(socket_calls, call));
}

/// Returns whether accept() removes the connection from the queue when it fails with this error.
bool takes_connection(int error) {
  return error == ECONNABORTED || error == EPERM;
}

/// Accepts and closes a connection, if this error removes one from the queue. Keeps errno.
template <class Accept>
void refuse_connection(const Accept& accept) {
  const int error = errno;
  const int socket = takes_connection(error) ? accept() : -1;
  if (socket >= 0) close(socket);
  errno = error;
}

}  // namespace
}  // namespace starling::stream

using starling::stream::fails;
using starling::stream::refuse_connection;
using starling::test::next_function;

extern "C" {

int accept(int socket, sockaddr* address, socklen_t* bytes) {
  static auto* const real = next_function<int(int, sockaddr*, socklen_t*)>("accept");
  if (!fails("accept")) return real(socket, address, bytes);
  refuse_connection([&] { return real(socket, nullptr, nullptr); });
  return -1;
}

int accept4(int socket, sockaddr* address, socklen_t* bytes, int flags) {
  static auto* const real = next_function<int(int, sockaddr*, socklen_t*, int)>("accept4");
  if (!fails("accept4")) return real(socket, address, bytes, flags);
  refuse_connection([&] { return real(socket, nullptr, nullptr, flags); });
  return -1;
}

int bind(int socket, const sockaddr* address, socklen_t bytes) noexcept {
  static auto* const real = next_function<int(int, const sockaddr*, socklen_t)>("bind");
  return fails("bind") ? -1 : real(socket, address, bytes);
}

int epoll_create1(int flags) noexcept {
  static auto* const real = next_function<int(int)>("epoll_create1");
  return fails("epoll_create1") ? -1 : real(flags);
}

int epoll_ctl(int poll, int operation, int file, epoll_event* event) noexcept {
  static auto* const real = next_function<int(int, int, int, epoll_event*)>("epoll_ctl");
  const bool may_fail = operation == EPOLL_CTL_ADD;  // other operations take no memory
  return may_fail && fails("epoll_ctl") ? -1 : real(poll, operation, file, event);
}

int epoll_wait(int poll, epoll_event* events, int count, int timeout_ms) {
  static auto* const real = next_function<int(int, epoll_event*, int, int)>("epoll_wait");
  return fails("epoll_wait") ? -1 : real(poll, events, count, timeout_ms);
}

int eventfd(unsigned value, int flags) noexcept {
  static auto* const real = next_function<int(unsigned, int)>("eventfd");
  return fails("eventfd") ? -1 : real(value, flags);
}

int getpeername(int socket, sockaddr* address, socklen_t* bytes) noexcept {
  static auto* const real = next_function<int(int, sockaddr*, socklen_t*)>("getpeername");
  return fails("getpeername") ? -1 : real(socket, address, bytes);
}

int getsockname(int socket, sockaddr* address, socklen_t* bytes) noexcept {
  static auto* const real = next_function<int(int, sockaddr*, socklen_t*)>("getsockname");
  return fails("getsockname") ? -1 : real(socket, address, bytes);
}

int getsockopt(int socket, int level, int name, void* value, socklen_t* bytes) noexcept {
  static auto* const real = next_function<int(int, int, int, void*, socklen_t*)>("getsockopt");
  return fails("getsockopt") ? -1 : real(socket, level, name, value, bytes);
}

int listen(int socket, int waiting) noexcept {
  static auto* const real = next_function<int(int, int)>("listen");
  return fails("listen") ? -1 : real(socket, waiting);
}

ssize_t recv(int socket, void* data, size_t bytes, int flags) {
  static auto* const real = next_function<ssize_t(int, void*, size_t, int)>("recv");
  return fails("recv") ? -1 : real(socket, data, bytes, flags);
}

ssize_t recvmsg(int socket, msghdr* message, int flags) {
  static auto* const real = next_function<ssize_t(int, msghdr*, int)>("recvmsg");
  return fails("recvmsg") ? -1 : real(socket, message, flags);
}

ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  static auto* const real = next_function<ssize_t(int, const msghdr*, int)>("sendmsg");
  return fails("sendmsg") ? -1 : real(socket, message, flags);
}

int setsockopt(int socket, int level, int name, const void* value, socklen_t bytes) noexcept {
  static auto* const real = next_function<int(int, int, int, const void*, socklen_t)>("setsockopt");
  return fails("setsockopt") ? -1 : real(socket, level, name, value, bytes);
}

int socket(int domain, int type, int protocol) noexcept {
  static auto* const real = next_function<int(int, int, int)>("socket");
  return fails("socket") ? -1 : real(domain, type, protocol);
}

int ioctl(int file, unsigned long request, ...) noexcept {
  static auto* const real = next_function<int(int, unsigned long, ...)>("ioctl");
  va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return fails("ioctl") ? -1 : real(file, request, argument);
}
}
