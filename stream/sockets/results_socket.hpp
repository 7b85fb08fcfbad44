// SPDX-License-Identifier: Apache-2.0
// The results endpoint: a ZeroMQ XPUB socket on the server's loop. ResultsSocket sends tick
// messages and counts subscriptions. A subscriber gets a multipart message whole or not at all. A
// subscriber that reads too slowly loses the messages beyond the high-water mark. The mark is
// derived from a limit on bytes. Server owns the ResultsSocket, and Ticker sends through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/sockets/reach.hpp"

namespace boost::asio {
class io_context;
}
namespace zmq {
class context_t;
}

namespace starling::stream {

struct ResultsSocketOptions {
  std::string endpoint;
  Reach reach_allowed = Reach::machine;
  /// The most bytes that may wait for one subscriber, estimated from the sizes of recent messages.
  std::size_t subscriber_bytes_max = 0;
  /// The high-water mark, in messages. 0 means that HighWaterMark derives it from
  /// subscriber_bytes_max.
  int send_hwm = 0;
  int linger_ms = 0;
  std::uint64_t io_threads = 0;  ///< bit mask: which of the context's threads to use; 0: any
  /// Connections beyond this number are closed at once.
  std::size_t connections_max = std::numeric_limits<std::size_t>::max();
};

/// Chooses ZeroMQ's high-water mark: how many messages may wait for one subscriber. The waiting
/// messages should have at most `bytes_max` bytes if they are as long as recent messages. The class
/// uses no socket.
///
/// A change of the mark can stop a ZeroMQ pipe for ever. The reading end of a pipe acknowledges
/// messages only when their number reaches a multiple of half the mark. The writing end counts each
/// message without an acknowledgement as waiting. If the mark falls below this count, the pipe
/// looks full although it is empty. If the mark rises while the pipe is full, the pipe holds fewer
/// messages than the reading end needs for its next acknowledgement. Therefore:
/// - Every mark is a power of two.
/// - After the first tick, the mark falls only to its half.
/// - After it has fallen, the mark falls again only when the reading end has surely acknowledged
///   messages under the new mark.
/// - After the first tick, the mark rises only while no message waits.
class HighWaterMark {
 public:
  static constexpr int messages_min = 2;
  static constexpr int ticks_max = 64;  ///< the mark holds the messages of at most 64 ticks

  explicit HighWaterMark(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  struct NextTick {
    std::size_t messages = 0;       ///< of the tick: one for each stream
    std::size_t message_bytes = 0;  ///< of the longest message
    std::size_t waiting_bytes = 0;  ///< sent before, and still held by ZeroMQ
    bool may_move = true;           ///< true if the socket's mark can be changed now
  };
  /// Adapts the mark to the next tick. Call follow() before the tick is sent. If messages become
  /// longer, the assumed size rises at once. If they become shorter, the assumed size falls over a
  /// few hundred ticks.
  void follow(const NextTick& next);
  /// Returns the mark, in messages.
  int messages() const { return messages_; }

 private:
  /// Returns the mark for waiting messages of `message_bytes` each. `messages` is the number of
  /// messages of one tick.
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

  /// Sends the messages of a tick, one for each stream. Each is a multipart message of topic,
  /// header and chunks.
  void send(std::vector<protocol::TickMessage> messages);

  std::size_t connection_count() const;
  /// Returns the number of connections closed so far because of connections_max.
  std::uint64_t refused_count() const;
  /// Returns the bytes of sent messages that ZeroMQ still holds for at least one subscriber.
  std::size_t waiting_bytes() const;

  /// Returns the number of current subscriptions to all topics together.
  std::uint64_t subscriber_count() const;
  /// Returns the number of subscriptions ever made. A subscriber that leaves and comes back counts
  /// twice.
  std::uint64_t join_count() const;
  /// Returns the number of current subscriptions to `topic`.
  std::uint64_t subscriber_count(std::string_view topic) const;

  /// Reads no more subscriptions. ZeroMQ still delivers the messages that were sent.
  void stop_reading();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
