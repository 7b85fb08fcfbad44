// SPDX-License-Identifier: Apache-2.0
// Sends bytes over ZeroMQ, and decodes the replies: see raw_peer.hpp.
#include "tests/stream/support/raw_peer.hpp"

#include "tests/stream/support/running_server.hpp"

namespace starling::stream {

RawPeer::RawPeer(zmq::context_t& context, const std::string& endpoint, const RawKeys& keys)
    : socket_(context, zmq::socket_type::dealer) {
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(patience);
  socket_.set(zmq::sockopt::rcvtimeo, static_cast<int>(timeout.count()));
  socket_.set(zmq::sockopt::linger, 0);
  if (!keys.server_public.empty()) {
    socket_.set(zmq::sockopt::curve_serverkey, keys.server_public);
    socket_.set(zmq::sockopt::curve_publickey, keys.public_key);
    socket_.set(zmq::sockopt::curve_secretkey, keys.secret_key);
  }
  socket_.connect(endpoint);
}

void RawPeer::send(const std::string& bytes) {
  send_parts({bytes});
}

void RawPeer::send_parts(const std::vector<std::string>& parts) {
  for (std::size_t part = 0; part < parts.size(); ++part)
    socket_.send(zmq::buffer(parts[part]),
                 part + 1 < parts.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
}

std::unique_ptr<RawReply> RawPeer::receive() {
  auto reply = std::make_unique<RawReply>();
  if (!socket_.recv(reply->message)) return nullptr;
  reply->frame = protocol::AlignedBytes(
      std::as_bytes(std::span(reply->message.data<char>(), reply->message.size())));
  reply->decoded = protocol::decode_reply(reply->frame);
  return reply;
}

std::unique_ptr<RawReply> RawPeer::ask(const std::string& bytes) {
  send(bytes);
  return receive();
}

std::uint64_t RawPeer::hello() {
  const auto reply = ask(encoded({}, protocol::Hello{.client = "raw", .key = ""}));
  return std::get<protocol::HelloReply>(reply->decoded.body).session;
}

std::string encoded(const protocol::RequestHead& head, const protocol::RequestBody& body) {
  const protocol::Frame frame = protocol::encode_request(head, body);
  const auto bytes = frame.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace starling::stream
