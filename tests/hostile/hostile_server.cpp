// SPDX-License-Identifier: Apache-2.0
// The sockets and the handshake of HostileServer: see hostile_server.hpp.
#include "tests/hostile/hostile_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "starling/protocol/wire/messages.hpp"

namespace starling::protocol::test {
namespace {

constexpr std::uint8_t flag_more = 1;
constexpr std::uint8_t flag_long = 2;
constexpr std::uint8_t flag_command = 4;
constexpr int poll_ms = 20;
constexpr std::size_t frame_bytes_max = std::size_t{64} << 20;

std::string greeting() {
  std::string bytes(64, '\0');
  bytes[0] = '\xff';
  bytes[9] = '\x7f';
  bytes[10] = 3;
  bytes.replace(12, 4, "NULL");
  return bytes;
}

std::string ready(std::string_view socket_type) {
  const std::string name = "Socket-Type";
  std::string body = std::string(1, 5) + "READY" + static_cast<char>(name.size()) + name;
  body += std::string(3, '\0') + static_cast<char>(socket_type.size()) + std::string(socket_type);
  return std::string{static_cast<char>(flag_command), static_cast<char>(body.size())} + body;
}

std::string head_of(std::uint64_t length, std::uint8_t flags) {
  std::string head(1, static_cast<char>(flags | flag_long));
  for (int shift = 56; shift >= 0; shift -= 8) head += static_cast<char>(length >> shift);
  return head;
}

bool is_ready(int descriptor, short events, const std::atomic<bool>& stops) {
  while (!stops) {
    pollfd item{descriptor, events, 0};
    if (::poll(&item, 1, poll_ms) > 0) return true;
  }
  return false;
}

}  // namespace

bool Peer::send_raw(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!is_ready(descriptor_, POLLOUT, stops_)) return false;
    const auto sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return !stops_;
}

bool Peer::announce(std::uint64_t length, bool more) {
  return send_raw(head_of(length, more ? flag_more : 0));
}

bool Peer::send(std::span<const std::byte> body, bool more) {
  return announce(body.size(), more) &&
         send_raw({reinterpret_cast<const char*>(body.data()), body.size()});
}

bool Peer::receive_raw(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    if (!is_ready(descriptor_, POLLIN, stops_)) return false;
    const auto received = ::recv(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (received < 0 && errno == EAGAIN) continue;
    if (received <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(received));
  }
  return true;
}

bool Peer::receive(std::string& body, std::uint8_t& flags) {
  std::array<std::byte, 8> head{};
  if (!receive_raw(std::span(head).first(1))) return false;
  flags = static_cast<std::uint8_t>(head[0]);
  const std::size_t length_bytes = (flags & flag_long) != 0 ? 8 : 1;
  if (!receive_raw(std::span(head).first(length_bytes))) return false;
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    length = length << 8 | static_cast<std::uint8_t>(head[i]);
  if (length > frame_bytes_max) return false;
  body.resize(length);
  return receive_raw(std::as_writable_bytes(std::span(body)));
}

HostileServer::Listener HostileServer::listening() {
  Listener listener;
  listener.descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener.descriptor, any, length) != 0 || ::listen(listener.descriptor, 64) != 0 ||
      ::getsockname(listener.descriptor, any, &length) != 0)
    throw std::runtime_error("cannot listen on a port of the loopback");
  listener.port = ntohs(address.sin_port);
  return listener;
}

HostileServer::HostileServer(Misbehaviour misbehaviour) : misbehaviour_(std::move(misbehaviour)) {
  commands_thread_ = std::jthread([this] { accept_on(commands_, true); });
  results_thread_ = std::jthread([this] { accept_on(results_, false); });
}

HostileServer::~HostileServer() {
  stops_ = true;
  commands_thread_.join();
  results_thread_.join();
  connections_.clear();
  ::close(commands_.descriptor);
  ::close(results_.descriptor);
}

std::string HostileServer::commands() const {
  return "tcp://127.0.0.1:" + std::to_string(commands_.port);
}

std::string HostileServer::results() const {
  return "tcp://127.0.0.1:" + std::to_string(results_.port);
}

void HostileServer::accept_on(const Listener& listener, bool is_commands) {
  while (is_ready(listener.descriptor, POLLIN, stops_)) {
    const int descriptor = ::accept4(listener.descriptor, nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor < 0) continue;
    const int yes = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    const std::scoped_lock lock(mutex_);
    connections_.emplace_back([this, descriptor, is_commands] {
      Peer peer(descriptor, stops_, results());
      std::array<std::byte, 64> their_greeting{};
      std::string their_ready;
      std::uint8_t flags = 0;
      if (peer.send_raw(greeting()) && peer.receive_raw(their_greeting) &&
          peer.send_raw(ready(is_commands ? "ROUTER" : "XPUB")) &&
          peer.receive(their_ready, flags)) {
        if (is_commands)
          serve_commands(peer);
        else
          serve_results(peer);
      }
      ::close(descriptor);
    });
  }
}

void HostileServer::serve_commands(Peer& peer) {
  std::string body;
  std::uint8_t flags = 0;
  while (peer.receive(body, flags)) {
    if ((flags & flag_command) != 0) continue;
    const AlignedBytes frame(std::as_bytes(std::span(body)));
    Limits unlimited;
    unlimited.frame_bytes_max = frame_bytes_max;
    unlimited.questions_max = unlimited.rows_max;
    if (!misbehaviour_.on_request(peer, decode_request(frame, unlimited))) return;
  }
}

void HostileServer::serve_results(Peer& peer) {
  std::string body;
  std::uint8_t flags = 0;
  while (peer.receive(body, flags)) {
    const bool is_subscription = (flags & flag_command) == 0 && body.size() > 1 && body[0] == 1;
    if (is_subscription && misbehaviour_.on_subscribed)
      misbehaviour_.on_subscribed(peer, body.substr(1));
  }
}

}  // namespace starling::protocol::test
