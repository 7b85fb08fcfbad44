// The results endpoint: a ZeroMQ XPUB on the server's loop. Sends each multipart message whole or
// not at all to each subscriber, and counts who has joined. A subscriber that does not read loses
// whole messages beyond the high-water mark, which follows from a byte budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "protocol/tick_message.hpp"

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
};

/// How many messages of the sizes seen lately fit a byte budget; sans-IO.
class HighWaterMark {
 public:
  explicit HighWaterMark(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// A message was sent. The largest one counts at once and fades over some hundred messages.
  void sent(std::size_t bytes);
  int messages() const;

 private:
  std::size_t bytes_max_;
  std::size_t typical_bytes_ = 1024;
};

class ResultsSocket {
 public:
  /// Binds; throws zmq::error_t.
  ResultsSocket(boost::asio::io_context& loop, zmq::context_t& context,
                const ResultsSocketOptions& options);
  ~ResultsSocket();

  const std::string& endpoint() const;

  /// One multipart message: topic, header, chunks.
  void send(protocol::TickMessage message);

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
