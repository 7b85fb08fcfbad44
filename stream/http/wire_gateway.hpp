// SPDX-License-Identifier: Apache-2.0
// The HTTP endpoint's client of its own server. Each HTTP request becomes one or several requests
// of the wire. They pass the same checks, limits, credit, sequence numbers and counters as requests
// at the commands endpoint, so the answers are the same. HttpApi owns a gateway for each principal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/sockets/http_server.hpp"
#include "starling/stream/state/peer.hpp"
#include "starling/stream/turns/fair_queue.hpp"
#include "starling/stream/turns/request_owner.hpp"

namespace boost::asio {
class io_context;
}

namespace starling::stream {

/// The client for which a request is sent.
struct WireSender {
  Payer payer{};
  /// A sequenced request that has not been passed to the server when the wait is over is dropped,
  /// without a call of Take. Null: it is never dropped.
  std::shared_ptr<const HttpWait> wait{};
};

class WireGateway {
 public:
  /// Passes an encoded request to the server, as CommandSocket::Handlers::request does.
  using Deliver = std::function<void(Peer, ReceivedBytes)>;
  /// Makes the request; may be called several times. The function owns what the request points to.
  using Make = std::function<protocol::RequestBody()>;
  /// Takes the reply. The reply is valid during the call.
  using Take = std::function<void(const protocol::ReplyBody&)>;
  /// The most sequenced requests that wait. A further one makes the last request of the owner with
  /// the most fail as busy.
  static constexpr std::size_t waiting_max = 1024;

  /// Sends requests of the principal, in a session of its own.
  WireGateway(boost::asio::io_context& loop, Deliver deliver,
              zmtp::PrincipalId principal = zmtp::PrincipalId::anonymous)
      : loop_(loop), deliver_(std::move(deliver)), principal_(principal) {}

  /// Sends a request, and calls `take` on the loop when its reply has come. A sequenced request
  /// waits until the previous one is answered, because after a refusal it gets the same number.
  /// Those of different payers have turns, by the time until their replies.
  void send(Make make, Take take, WireSender sender = {});

  /// Returns the owner of the reply's memory while a Take runs. Copy it to use the reply later.
  const std::shared_ptr<const void>& reply_owner() const { return reply_owner_; }

  /// Call this with each reply to a Peer that is `in_process`.
  void replied(std::span<const std::byte> frame);

 private:
  struct Exchange {
    Make make;
    Take take;
    WireSender sender{};
    bool is_sent_again = false;
    std::uint64_t session = 0;  ///< the session in which it was sent
  };

  void begin(Exchange exchange);
  void begin_next_change();
  void begin_change(Exchange exchange);
  void refuse_one_change();
  void open_session();
  void session_opened(const protocol::ReplyBody& reply);
  void transmit(Exchange exchange, const protocol::RequestBody& body, std::uint64_t sequence);
  void take_reply(const std::shared_ptr<const std::vector<std::byte>>& frame);
  void change_ended(const protocol::ReplyBody& reply);

  boost::asio::io_context& loop_;
  Deliver deliver_;
  zmtp::PrincipalId principal_;
  std::uint64_t session_ = 0;  ///< 0: no session is open
  std::uint64_t next_sequence_ = 1;
  std::uint64_t next_request_ = 1;
  bool is_opening_ = false;
  std::shared_ptr<const void> reply_owner_;
  std::vector<Exchange> unopened_;    ///< requests that wait for a session
  FairQueue<Exchange> changes_;       ///< sequenced requests that wait for their turn
  std::optional<Exchange> repeated_;  ///< the sequenced request that is sent again, before others
  std::unordered_map<std::uint64_t, Exchange> sent_;  ///< the key is the request id
  std::uint64_t change_request_ = 0;  ///< id of the sequenced request without a reply; 0: none
  Payer change_payer_{};              ///< payer of that request
  std::int64_t change_since_us_ = 0;  ///< time at which that request was sent
};

/// Sends the requests of one client through a gateway, which must outlive it.
class WireClient {
 public:
  WireClient(WireGateway& gateway, WireSender sender)
      : gateway_(&gateway), sender_(std::move(sender)) {}

  void send(WireGateway::Make make, WireGateway::Take take) const {
    gateway_->send(std::move(make), std::move(take), sender_);
  }

 private:
  WireGateway* gateway_;
  WireSender sender_;
};

}  // namespace starling::stream
