// SPDX-License-Identifier: Apache-2.0
// The results endpoint: a ZeroMQ XPUB on the server's loop. It sends tick messages and counts
// subscriptions. A subscriber gets a multipart message whole or not at all. A subscriber that does
// not read loses whole messages beyond the high-water mark, which is derived from a limit on bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "starling/protocol/wire/tick_message.hpp"

namespace boost::asio {
class io_context;
}
namespace zmq {
class context_t;
}

namespace starling::stream {

struct ResultsSocketOptions {
  std::string endpoint;
  std::size_t subscriber_bytes_max = 0;  ///< that wait for one subscriber, by recent sizes
  int send_hwm = 0;                      ///< messages; 0: derived from subscriber_bytes_max
  int linger_ms = 0;
  std::uint64_t io_threads = 0;  ///< bit mask of the context's threads to use; 0: any
  /// Further connections are closed.
  std::size_t connections_max = std::numeric_limits<std::size_t>::max();
};

/// Chooses ZeroMQ's high-water mark: how many messages may wait for one subscriber. The mark is
/// chosen so that messages of the recent sizes stay within a number of bytes. Uses no socket.
///
/// A change of the mark can stop a ZeroMQ pipe for ever. The reading end acknowledges only at each
/// multiple of half the mark, and the writing end counts every message without an acknowledgement
/// as waiting. If the mark falls below that count, an empty pipe looks full. If the mark rises
/// while the pipe is full, the next acknowledgement is due after more messages than the pipe holds.
/// Therefore:
/// - every mark is a power of two,
/// - a lower mark is half of the mark before,
/// - the mark falls again only when half of it has surely been acknowledged,
/// - the mark rises only while no message waits.
class HighWaterMark {
 public:
  static constexpr int messages_min = 2;
  static constexpr int ticks_max = 64;  ///< the upper limit, however short the messages are

  explicit HighWaterMark(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  struct NextTick {
    std::size_t messages = 0;       ///< one for each stream
    std::size_t message_bytes = 0;  ///< of the longest message
    std::size_t waiting_bytes = 0;  ///< sent before, and not yet received by every subscriber
    bool may_move = true;           ///< whether the socket can take another mark now
  };
  /// Call before a tick is sent. A message longer than before counts immediately, and its effect
  /// fades over a few hundred ticks.
  void follow(const NextTick& next);
  int messages() const { return messages_; }

 private:
  int that_fit(std::size_t message_bytes, std::size_t messages) const;

  std::size_t bytes_max_;
  std::size_t typical_bytes_ = 1024;
  int messages_ = ticks_max;
  int ticks_until_lower_ = 0;
  bool is_first_ = true;
};

class ResultsSocket {
 public:
  /// Binds the endpoint. Throws as bind_endpoint does.
  ResultsSocket(boost::asio::io_context& loop, zmq::context_t& context,
                const ResultsSocketOptions& options);
  ~ResultsSocket();

  const std::string& endpoint() const;

  /// Sends a tick: for each stream one multipart message of topic, header and chunks.
  void send(std::vector<protocol::TickMessage> messages);

  std::size_t connection_count() const;
  /// The number of connections closed so far because of the limit.
  std::uint64_t refused_count() const;
  /// The bytes that were sent and are not yet received by every subscriber.
  std::size_t waiting_bytes() const;

  /// The number of subscriptions to all topics.
  std::uint64_t subscriber_count() const;
  /// The number of subscriptions ever made. A subscriber that leaves and comes back counts twice.
  std::uint64_t join_count() const;
  /// The number of subscriptions to `topic`.
  std::uint64_t subscriber_count(std::string_view topic) const;

  /// Reads no more subscriptions. Messages that were sent still leave.
  void stop_reading();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
