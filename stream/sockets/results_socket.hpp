// SPDX-License-Identifier: Apache-2.0
// The results endpoint: a ZeroMQ XPUB on the server's loop. Sends each multipart message whole or
// not at all to each subscriber, and counts subscriptions. A subscriber that does not read loses
// whole messages beyond the high-water mark, which follows from a byte budget.
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
  std::size_t subscriber_bytes_max = 0;  ///< waiting for one subscriber, by recent message sizes
  int send_hwm = 0;                      ///< messages; 0: derived from subscriber_bytes_max
  int linger_ms = 0;
  std::uint64_t io_threads = 0;  ///< of the context, those that serve it, by bit; 0: any
  std::size_t connections_max = std::numeric_limits<std::size_t>::max();  ///< more are closed
};

/// How many messages may wait for a subscriber, so that those of the sizes seen lately fit a byte
/// budget; sans-IO.
///
/// A moving mark may stop a ZeroMQ pipe for good. The reading end says how far it has read only at
/// each multiple of half the mark, and the writing end counts what was not said as waiting: a mark
/// lowered below that finds an empty pipe full, and a mark raised above a full pipe moves the next
/// saying beyond what is there to be read. Therefore all marks are powers of two, a lower one is
/// half of the one before, the next lower one comes when half that mark has surely been said, and
/// a higher one comes only while nothing waits.
class HighWaterMark {
 public:
  static constexpr int messages_min = 2;
  static constexpr int ticks_max = 64;  ///< of all streams, however short

  explicit HighWaterMark(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  struct NextTick {
    std::size_t messages = 0;       ///< one a stream
    std::size_t message_bytes = 0;  ///< of the longest
    std::size_t waiting_bytes = 0;  ///< sent before and not yet with every subscriber
    bool may_move = true;           ///< the socket can take another mark now
  };
  /// Before a tick is sent. The longest message counts at once and fades over some hundred ticks.
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
  /// Binds, and throws as bind_endpoint does.
  ResultsSocket(boost::asio::io_context& loop, zmq::context_t& context,
                const ResultsSocketOptions& options);
  ~ResultsSocket();

  const std::string& endpoint() const;

  /// A tick: for each stream one multipart message of topic, header, chunks.
  void send(std::vector<protocol::TickMessage> messages);

  std::size_t connection_count() const;
  /// Connections beyond the limit, so far.
  std::uint64_t refused_count() const;
  /// Sent and not yet with every subscriber.
  std::size_t waiting_bytes() const;

  /// Subscriptions to any topic, and to this one alone.
  std::uint64_t subscriber_count() const;
  /// How many have ever joined; one that left and came back counts twice.
  std::uint64_t join_count() const;
  std::uint64_t subscriber_count(std::string_view topic) const;

  /// Reads no more joins and leaves; what was sent still goes out.
  void stop_reading();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
