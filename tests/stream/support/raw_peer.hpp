// SPDX-License-Identifier: Apache-2.0
// RawPeer is a ZeroMQ DEALER socket that sends the bytes that a test gives it and decodes the
// replies.
#pragma once

#include <optional>
#include <string>

#include <zmq.hpp>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/request_codec.hpp"

namespace starling::stream {

/// A decoded reply, and the message that it points into.
struct RawReply {
  zmq::message_t message;
  protocol::AlignedBytes frame;
  protocol::DecodedReply decoded;

  protocol::ErrorCode error() const {
    const auto* refused = std::get_if<protocol::ErrorReply>(&decoded.body);
    return refused == nullptr ? protocol::ErrorCode::none : refused->problem.code;
  }
};

/// The CURVE keys of a client, in Z85.
struct RawKeys {
  std::string server_public{};
  std::string public_key{};
  std::string secret_key{};
};

class RawPeer {
 public:
  /// Encrypts if there are keys.
  RawPeer(zmq::context_t& context, const std::string& endpoint, const RawKeys& keys = {});

  void send(const std::string& bytes);
  void send_parts(const std::vector<std::string>& parts);
  /// Returns the next reply, or nullptr if no reply arrives within `patience`.
  std::unique_ptr<RawReply> receive();
  std::unique_ptr<RawReply> ask(const std::string& bytes);

  /// Opens a session and returns its number.
  std::uint64_t hello();

 private:
  zmq::socket_t socket_;
};

std::string encoded(const protocol::RequestHead& head, const protocol::RequestBody& body);

}  // namespace starling::stream
