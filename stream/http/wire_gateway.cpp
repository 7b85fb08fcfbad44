// SPDX-License-Identifier: Apache-2.0
// Opens a session when the first request needs one, and again when the server has forgotten it: see
// wire_gateway.hpp. Replies are taken in a later turn of the loop, because the server may send them
// while it still handles the request.
#include "starling/stream/http/wire_gateway.hpp"

#include <memory>
#include <utility>
#include <variant>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "starling/knn/base/clocks.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/request_codec.hpp"

namespace starling::stream {

namespace asio = boost::asio;
using protocol::ErrorCode;

namespace {

bool is_unknown_session(const protocol::ReplyBody& reply) {
  const auto* error = std::get_if<protocol::ErrorReply>(&reply);
  return error != nullptr && error->problem.code == ErrorCode::unknown_session;
}

}  // namespace

void WireGateway::send(Make make, Take take, WireSender sender) {
  Exchange exchange{std::move(make), std::move(take), std::move(sender)};
  if (session_ != 0) return begin(std::move(exchange));
  unopened_.push_back(std::move(exchange));
  open_session();
}

void WireGateway::begin(Exchange exchange) {
  const protocol::RequestBody body = exchange.make();
  if (!protocol::is_sequenced(body)) return transmit(std::move(exchange), body, 0);
  const Payer payer = exchange.sender.payer;
  changes_.push(payer, std::move(exchange));
  begin_next_change();
  if (changes_.size() > waiting_max) refuse_one_change();
}

void WireGateway::refuse_one_change() {
  const auto count = [](const RequestOwner&, std::size_t waiting) { return waiting; };
  const auto last = changes_.take_last_of_largest(count, 0);
  asio::post(loop_, [take = last->take] {
    take(protocol::ErrorReply{
        {ErrorCode::busy, "Too many changes over HTTP wait; send this one again in a while.", {}}});
  });
}

void WireGateway::begin_next_change() {
  if (change_request_ == 0 && session_ != 0 && repeated_)
    begin_change(*std::exchange(repeated_, std::nullopt));
  while (change_request_ == 0 && session_ != 0 && changes_.is_ready())
    changes_.serve_next([this](const Payer&, Exchange& exchange) -> std::optional<std::int64_t> {
      if (!exchange.sender.wait || !exchange.sender.wait->is_over())
        begin_change(std::move(exchange));
      return 0;  // change_ended() charges for the time
    });
}

void WireGateway::begin_change(Exchange exchange) {
  change_request_ = next_request_;
  change_payer_ = exchange.sender.payer;
  change_since_us_ = steady_now_us();
  const protocol::RequestBody body = exchange.make();
  transmit(std::move(exchange), body, next_sequence_);
}

void WireGateway::open_session() {
  if (std::exchange(is_opening_, true)) return;
  session_ = 0;
  transmit({.make = {}, .take = [this](const auto& reply) { session_opened(reply); }},
           protocol::Hello{.client = "http"}, 0);
}

void WireGateway::session_opened(const protocol::ReplyBody& reply) {
  is_opening_ = false;
  auto waiting = std::exchange(unopened_, {});
  const auto* hello = std::get_if<protocol::HelloReply>(&reply);
  if (hello == nullptr) {
    if (repeated_) waiting.push_back(*std::exchange(repeated_, std::nullopt));
    while (changes_.is_ready())
      changes_.serve_next([&](const Payer&, Exchange& exchange) -> std::optional<std::int64_t> {
        waiting.push_back(std::move(exchange));
        return 0;
      });
    for (const Exchange& each : waiting) each.take(reply);
    return;
  }
  session_ = hello->session;
  next_sequence_ = hello->last_sequence + 1;
  for (Exchange& each : waiting) begin(std::move(each));
  begin_next_change();
}

void WireGateway::transmit(Exchange exchange, const protocol::RequestBody& body,
                           std::uint64_t sequence) {
  const std::uint64_t request = next_request_++;
  exchange.session = session_;
  const PeerAddress address = exchange.sender.payer.owner.address;
  const auto frame = std::make_shared<protocol::Frame>(
      protocol::encode_request({request, session_, sequence}, body));
  sent_.emplace(request, std::move(exchange));
  deliver_(Peer{.in_process = true, .principal = principal_, .address = address},
           ReceivedBytes{frame, frame->bytes()});
}

void WireGateway::replied(std::span<const std::byte> frame) {
  asio::post(loop_, [this, bytes = std::make_shared<const std::vector<std::byte>>(
                               frame.begin(), frame.end())] { take_reply(bytes); });
}

void WireGateway::take_reply(const std::shared_ptr<const std::vector<std::byte>>& frame) {
  const protocol::AlignedBytes aligned(*frame);  // makes no copy: a vector's bytes are aligned
  const protocol::DecodedReply reply = protocol::decode_reply(aligned);
  auto found = sent_.extract(reply.head.request_id);
  if (found.empty()) return;
  Exchange exchange = std::move(found.mapped());
  const bool is_change = reply.head.request_id == change_request_;
  if (is_unknown_session(reply.body) && !exchange.is_sent_again && exchange.make) {
    exchange.is_sent_again = true;
    const bool is_lost = exchange.session == session_;  // no later session has been opened yet
    if (is_change) {
      change_request_ = 0;
      repeated_ = std::move(exchange);
      if (!is_lost) begin_next_change();
    } else if (is_lost || session_ == 0) {
      unopened_.push_back(std::move(exchange));
    } else {
      begin(std::move(exchange));
    }
    if (is_lost) open_session();
    return;
  }
  if (is_change) change_ended(reply.body);
  reply_owner_ = frame;
  exchange.take(reply.body);
  reply_owner_.reset();
  begin_next_change();
}

void WireGateway::change_ended(const protocol::ReplyBody& reply) {
  change_request_ = 0;
  changes_.charge(change_payer_, steady_now_us() - change_since_us_);
  const auto* error = std::get_if<protocol::ErrorReply>(&reply);
  if (error == nullptr)
    ++next_sequence_;
  else if (error->sequence_expected != 0)
    next_sequence_ = error->sequence_expected;
}

}  // namespace starling::stream
