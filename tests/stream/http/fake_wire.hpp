// SPDX-License-Identifier: Apache-2.0
// A server behind WireGateway that keeps the requests until the test answers them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/request_codec.hpp"
#include "starling/stream/http/wire_gateway.hpp"

namespace starling::stream {

/// A request that the gateway has sent.
struct SentFrame {
  SentFrame(Peer from, ReceivedBytes bytes)
      : peer(std::move(from)),
        received(std::move(bytes)),
        aligned(received.bytes),
        request(protocol::decode_request(aligned, {})) {
    EXPECT_FALSE(request.problem);
  }
  protocol::RequestHead head() const { return request.head; }
  template <class Body>
  const Body& as() const {
    return std::get<Body>(request.body);
  }
  template <class Body>
  bool is() const {
    return std::holds_alternative<Body>(request.body);
  }

  Peer peer;
  ReceivedBytes received;
  protocol::AlignedBytes aligned;
  protocol::DecodedRequest request;
};

/// A server that keeps the requests. The test answers them with the functions below.
class FakeWire {
 public:
  using Reply = std::function<void(zmtp::PrincipalId, std::span<const std::byte>)>;

  explicit FakeWire(Reply reply) : reply_(std::move(reply)) {}

  WireGateway::Deliver deliver() {
    return [this](const Peer& peer, ReceivedBytes received) {
      sent.push_back(std::make_unique<SentFrame>(peer, std::move(received)));
    };
  }
  /// Takes the oldest request.
  std::unique_ptr<SentFrame> next() {
    if (sent.empty()) throw std::runtime_error("no request was sent");
    auto request = std::move(sent.front());
    sent.pop_front();
    return request;
  }
  /// Answers a request. `encode` makes the frame for a head.
  template <class Encode>
  void answer(const SentFrame& request, const Encode& encode) {
    const protocol::Frame frame =
        encode(protocol::ReplyHead{request.head().request_id, request.head().sequence, 0});
    reply_(request.peer.principal, frame.bytes());
  }
  /// The functions below answer the oldest request.
  void done() {
    answer(*next(), [](const auto& head) { return protocol::encode_done(head); });
  }
  void batch(const protocol::BatchReply& outcome) {
    answer(*next(), [&](const auto& head) { return protocol::encode_batch_reply(head, outcome); });
  }
  void refuse(protocol::ErrorCode code, std::uint64_t sequence_expected = 0) {
    refuse({{code, "No.", {}}, sequence_expected});
  }
  void refuse(const protocol::ErrorReply& error) {
    answer(*next(), [&](const auto& head) { return protocol::encode_error(head, error); });
  }
  /// Opens a session of this number, whose last sequence is `last`.
  void open(std::uint64_t session, std::uint64_t last = 0) {
    const auto request = next();
    EXPECT_EQ(request->as<protocol::Hello>().client, "http");
    answer(*request, [&](const auto& head) {
      return protocol::encode_hello_reply(head, {.session = session, .last_sequence = last});
    });
  }

  std::deque<std::unique_ptr<SentFrame>> sent;

 private:
  Reply reply_;
};

}  // namespace starling::stream
