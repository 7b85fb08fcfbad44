// SPDX-License-Identifier: Apache-2.0
// Sends requests over plain sockets: see reader_socket.hpp.
#include "starling/bench/server/reader_socket.hpp"

#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace starling::bench {

namespace {

constexpr int patience_s = 20;

sockaddr_in address_of(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(colon + 1))));
  inet_pton(AF_INET, endpoint.substr(0, colon).c_str(), &address.sin_addr);
  return address;
}

/// Reads until the text has `awaited`. Reads one byte at a time, so that all bytes after `awaited`
/// stay in the socket.
void wait_for(int socket, std::string_view awaited) {
  const timeval patience{patience_s, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string text;
  while (!text.ends_with(awaited)) {
    char byte = 0;
    const bool has_ended = recv(socket, &byte, 1, 0) != 1;
    if (!has_ended) text += byte;
    const bool is_refused =
        text.size() > 12 && text.substr(9, 3) != "200" && text.substr(9, 3) != "101";
    if (has_ended || is_refused)
      throw std::runtime_error("the server refuses a reader: " + text.substr(0, text.find('\r')));
  }
}

void send_all(int socket, std::string_view text) {
  if (send(socket, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("cannot send the request of a reader");
}

/// Closes a socket, unless it was released.
class OwnedSocket {
 public:
  explicit OwnedSocket(int socket) : socket_(socket) {
    if (socket_ < 0) throw std::runtime_error("there is no socket for a reader");
  }
  ~OwnedSocket() {
    if (socket_ >= 0) close(socket_);
  }
  OwnedSocket(const OwnedSocket&) = delete;
  OwnedSocket& operator=(const OwnedSocket&) = delete;

  int get() const { return socket_; }
  int release() {
    const int socket = socket_;
    socket_ = -1;
    return socket;
  }

 private:
  int socket_;
};

}  // namespace

int open_reader(const std::string& endpoint, const std::string& request, std::string_view awaited) {
  OwnedSocket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = address_of(endpoint);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("cannot connect a reader to " + endpoint);
  send_all(socket.get(), request);
  wait_for(socket.get(), awaited);
  return socket.release();
}

int open_view(const std::string& endpoint, const protocol::View& view) {
  OwnedSocket socket(open_reader(
      endpoint,
      "GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
      "\r\n\r\n"));
  const protocol::Frame request = protocol::encode_socket_request(1, view);
  constexpr unsigned char binary = 0x82;
  send_frame(socket.get(), binary,
             {reinterpret_cast<const char*>(request.bytes().data()), request.size()});
  return socket.release();
}

void send_frame(int socket, unsigned char first_byte, std::string_view message) {
  constexpr std::size_t size_max = 125;
  if (message.size() > size_max) throw std::logic_error("a reader sends only short messages");
  std::string frame{static_cast<char>(first_byte), static_cast<char>(0x80 | message.size())};
  frame.append(4, '\0');  // the mask
  frame += message;
  send_all(socket, frame);
}

}  // namespace starling::bench
