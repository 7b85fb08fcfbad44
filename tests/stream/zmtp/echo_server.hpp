// SPDX-License-Identifier: Apache-2.0
// A CommandSocket that answers each request with its own bytes, on a loop of its own, and a peer
// that sends exactly the bytes that a test gives it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <arpa/inet.h>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <flatbuffers/flatbuffers.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.hpp>

#include "starling/stream/sockets/command_socket.hpp"

namespace starling::stream {

inline protocol::Frame frame_of(std::span<const std::byte> bytes) {
  auto* const memory = new std::uint8_t[bytes.size() + 1];
  std::copy_n(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), memory);
  return protocol::Frame(
      flatbuffers::DetachedBuffer(nullptr, false, memory, bytes.size() + 1, memory, bytes.size()));
}

inline bool comes_true(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < until) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

struct EchoServer {
  explicit EchoServer(CommandSocketOptions options = {}) {
    if (options.endpoint.empty()) options.endpoint = "tcp://127.0.0.1:*";
    if (options.message_bytes_max == 0) options.message_bytes_max = std::size_t{16} << 20;
    options.linger_ms = 500;
    socket = std::make_unique<CommandSocket>(
        loop, threads, options,
        CommandSocket::Handlers{
            .request =
                [this](const Peer& peer, ReceivedBytes received, ReceivedRoom room) {
                  if (takes_requests) return take(peer, received);
                  held.push_back({peer, std::move(received), std::move(room)});
                },
            .malformed = [this](const Peer&, const ReceivedRoom&) { ++malformed; }});
    thread = std::thread([this] { loop.run(); });
  }
  ~EchoServer() {
    work.reset();
    loop.stop();
    thread.join();
    held.clear();
    socket.reset();
  }
  void take(const Peer& peer, const ReceivedBytes& received) {
    principal = peer.principal;
    ++requests;
    if (answers) socket->send(peer, frame_of(received.bytes));
  }
  /// Takes the requests that were held while `takes_requests` was false.
  void take_held() {
    takes_requests = true;
    boost::asio::post(loop, [this] {
      for (const Held& each : std::exchange(held, {})) take(each.peer, each.received);
    });
  }
  std::uint64_t cuts(zmtp::Fault fault) const { return socket->faults().of(fault); }

  boost::asio::io_context loop{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{
      loop.get_executor()};
  zmtp::IoThreads threads{2};
  struct Held {
    Peer peer;
    ReceivedBytes received;
    ReceivedRoom room;
  };
  std::vector<Held> held;
  std::atomic<bool> takes_requests{true};
  std::atomic<bool> answers{true};
  std::atomic<int> requests{0};
  std::atomic<int> malformed{0};
  std::atomic<zmtp::PrincipalId> principal{zmtp::PrincipalId::anonymous};
  std::unique_ptr<CommandSocket> socket;
  std::thread thread;
};

/// A connection without ZeroMQ.
class PlainConnection {
 public:
  /// `from` is the peer's own address.
  explicit PlainConnection(const std::string& endpoint, const char* from = "127.0.0.1") {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
    descriptor_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in own{};
    own.sin_family = AF_INET;
    ::inet_pton(AF_INET, from, &own.sin_addr);
    // Without this, bind() chooses the port, and the ports of one address run out.
    const int on = 1;
    ::setsockopt(descriptor_, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    if (::bind(descriptor_, reinterpret_cast<sockaddr*>(&own), sizeof(own)) != 0)
      ADD_FAILURE() << from << " is no address of this machine";
    if (::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
      ADD_FAILURE() << "the server does not listen";
  }
  PlainConnection(PlainConnection&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  PlainConnection& operator=(PlainConnection&&) = delete;
  ~PlainConnection() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  /// Returns false if the server has closed the connection.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// Closes the connection at once, with a RST.
  void reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    ::close(std::exchange(descriptor_, -1));
  }
  /// Returns the bytes that come until there are `count`, the server closes, or 30 s pass.
  std::string receive(std::size_t count) {
    std::string bytes;
    while (bytes.size() < count && waits(30'000)) {
      std::string more(count - bytes.size(), '\0');
      const ssize_t received = ::recv(descriptor_, more.data(), more.size(), 0);
      if (received <= 0) break;
      bytes += more.substr(0, static_cast<std::size_t>(received));
    }
    return bytes;
  }
  /// Returns whether the server closes the connection within `ms`. Skips bytes that come before.
  bool is_closed_within(int ms) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    std::array<char, 4096> bytes;
    while (std::chrono::steady_clock::now() < until)
      if (waits(20) && ::recv(descriptor_, bytes.data(), bytes.size(), 0) <= 0) return true;
    return false;
  }

 private:
  bool waits(int ms) const {
    pollfd poll{descriptor_, POLLIN, 0};
    return ::poll(&poll, 1, ms) > 0;
  }

  int descriptor_ = -1;
};

inline std::string plain_greeting(char minor = 1, std::string_view mechanism = "NULL") {
  std::string bytes(64, '\0');
  bytes[0] = '\xff';
  bytes[9] = '\x7f';
  bytes[10] = 3;
  bytes[11] = minor;
  bytes.replace(12, mechanism.size(), mechanism);
  return bytes;
}

/// Returns a frame with these flags (1: more, 4: command). Its size has eight bytes.
inline std::string long_frame(int flags, const std::string& body,
                              std::optional<std::uint64_t> size = {}) {
  std::string bytes(1, static_cast<char>(flags | 2));
  for (int shift = 56; shift >= 0; shift -= 8)
    bytes += static_cast<char>(size.value_or(body.size()) >> shift);
  return bytes + body;
}

inline std::string plain_ready(const std::string& type, const std::string& identity = "") {
  std::string body = "\5READY\13Socket-Type" + std::string(3, '\0');
  body += static_cast<char>(type.size());
  body += type;
  if (!identity.empty()) {
    body += "\10Identity" + std::string(3, '\0');
    body += static_cast<char>(identity.size());
    body += identity;
  }
  return long_frame(4, body);
}

/// The keys of a server that admits one client.
struct Keys {
  Keys() {
    EXPECT_GE(sodium_init(), 0);
    crypto_box_keypair(server.server_public.data(), server.server_secret.data());
    crypto_box_keypair(client_public.data(), client_secret.data());
    server.admit = [this](const zmtp::PublicKey& key) -> std::optional<zmtp::PrincipalId> {
      if (key == client_public) return zmtp::PrincipalId{7};
      return std::nullopt;
    };
  }
  static std::string text(const std::array<std::uint8_t, 32>& key) {
    char out[41];
    zmq_z85_encode(out, key.data(), key.size());
    return out;
  }
  void apply(zmq::socket_t& socket) const {
    socket.set(zmq::sockopt::curve_serverkey, text(server.server_public));
    socket.set(zmq::sockopt::curve_publickey, text(client_public));
    socket.set(zmq::sockopt::curve_secretkey, text(client_secret));
  }

  zmtp::Authentication server;
  zmtp::PublicKey client_public{};
  zmtp::PublicKey client_secret{};
};

}  // namespace starling::stream
