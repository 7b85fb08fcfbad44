// SPDX-License-Identifier: Apache-2.0
// The results endpoint: speaks ZMTP as an XPUB socket of ZeroMQ would. ResultsSocket sends tick
// messages and counts subscriptions. A subscriber gets a multipart message whole or not at all. A
// subscriber that reads too slowly loses the messages beyond its limits, and does not delay other
// subscribers. Server owns the ResultsSocket, and Ticker sends through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/sockets/reach.hpp"
#include "starling/stream/sockets/results.hpp"
#include "starling/stream/turns/places.hpp"
#include "starling/stream/zmtp/authentication.hpp"
#include "starling/stream/zmtp/fault.hpp"
#include "starling/stream/zmtp/io_threads.hpp"

namespace starling::stream {

struct ResultsSocketOptions {
  std::string endpoint;
  Reach reach_allowed = Reach::machine;
  /// The most bytes that may wait for one subscriber. A single message may be longer.
  std::size_t subscriber_bytes_max = 0;
  /// The most messages that may wait for one subscriber. 0: the messages of 64 ticks.
  int subscriber_ticks_max = 0;
  std::size_t subscriber_topics_max = 4096;  ///< a connection with more topics is cut
  int linger_ms = 0;
  zmtp::IoThreadRange io_threads{};
  // See ListenerOptions.
  std::size_t connections_max = std::numeric_limits<std::size_t>::max();
  PlaceQuota connection_quota{};
  std::size_t handshakes_max = 4096;
  const zmtp::Authentication* authentication = nullptr;  ///< null: all peers are anonymous
  /// Returns whether the principal may subscribe to the topic. If not, its connection is cut.
  /// Several I/O threads may call it at the same time. Empty: every principal may subscribe.
  std::function<bool(zmtp::PrincipalId, std::string_view topic)> may_subscribe{};
};

class ResultsSocket final : public Results {
 public:
  /// Listens on the endpoint. Throws as bind_endpoint does. `threads` must outlive the socket.
  ResultsSocket(zmtp::IoThreads& threads, const ResultsSocketOptions& options);
  /// Waits up to linger_ms for messages that have not been sent.
  ~ResultsSocket() override;

  const std::string& endpoint() const;

  /// Sends the messages of a tick, one for each stream. Each is a multipart message of topic,
  /// header and chunks.
  void send(std::vector<protocol::TickMessage> messages);
  void send(std::span<protocol::TickMessage> messages, std::size_t of_tick) override;

  std::size_t connection_count() const;
  /// Returns the number of unfinished handshakes.
  std::size_t handshake_count() const;
  /// Returns which connections gave way to those of others (Places).
  Places::GaveWay gave_way() const;
  /// Returns the number of connections that were closed so far because they got no place.
  std::uint64_t refused_count() const;
  /// Returns how often peers were cut because they broke a rule, by the rule.
  const zmtp::FaultCounts& faults() const;
  /// Returns the bytes of sent messages that still wait for at least one subscriber.
  std::size_t waiting_bytes() const;
  /// Returns the number of messages that slow subscribers have lost so far. A message that several
  /// subscribers lose counts once for each of them.
  std::uint64_t dropped_count() const;

  /// Returns the number of current subscriptions to all topics together.
  std::uint64_t subscriber_count() const;
  /// Returns the number of subscriptions ever made. A subscriber that leaves and comes back counts
  /// twice.
  std::uint64_t join_count() const;
  std::uint64_t subscriber_count(std::string_view topic) const override;

  /// Closes the connections of the principals for which `is_meant` returns true. I/O threads call
  /// `is_meant`.
  void cut(const std::function<bool(zmtp::PrincipalId)>& is_meant);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
