// SPDX-License-Identifier: Apache-2.0
// Sends the frames of each tick without copying them, and adapts XPUB's high-water mark to the size
// of the messages: see results_socket.hpp.
#include "starling/stream/sockets/results_socket.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <zmq.hpp>

#include "starling/protocol/wire/zmq_frames.hpp"
#include "starling/stream/sockets/bind_endpoint.hpp"
#include "starling/stream/sockets/connection_limit.hpp"
#include "starling/stream/sockets/zmq_watch.hpp"

namespace starling::stream {

namespace {

constexpr int joins_per_turn = 256;

// The limits of State::topics, the table that counts subscriptions. A topic beyond the limits is
// not counted, but XPUB still serves its subscribers.
constexpr std::size_t topics_max = 1u << 16;
constexpr std::size_t topic_bytes_max = 256;

// When a subscriber leaves, ZeroMQ closes its pipe in less time than this. One turn of a ZeroMQ
// thread is enough.
constexpr std::int64_t leaving_us = 1'000'000;

/// The bytes of frames that ZeroMQ still holds for at least one subscriber. A thread of ZeroMQ that
/// frees a frame subtracts the frame's bytes.
using WaitingBytes = std::atomic<std::size_t>;

/// A frame that ZeroMQ holds. Its bytes count as waiting.
struct Lent {
  Lent(protocol::Frame the_frame, std::shared_ptr<WaitingBytes> the_waiting)
      : frame(std::move(the_frame)), bytes(frame.bytes()), waiting(std::move(the_waiting)) {
    *waiting += bytes.size();
  }
  ~Lent() { *waiting -= bytes.size(); }

  protocol::Frame frame;
  std::span<const std::byte> bytes;       ///< of `frame`
  std::shared_ptr<WaitingBytes> waiting;  ///< shared, because a frame may outlive the socket
};

/// Returns a message part that refers to the frame's memory. ZeroMQ frees the frame after it has
/// sent the part to the last subscriber.
zmq::message_t lend(protocol::Frame frame, const std::shared_ptr<WaitingBytes>& waiting) {
  auto lent = std::make_unique<Lent>(std::move(frame), waiting);
  const std::span bytes = lent->bytes;
  zmq::message_t part(
      const_cast<std::byte*>(bytes.data()), bytes.size(),
      [](void*, void* hint) { delete static_cast<Lent*>(hint); }, lent.get());
  std::ignore = lent.release();  // ZeroMQ deletes `lent`
  return part;
}

}  // namespace

void HighWaterMark::follow(const NextTick& next) {
  typical_bytes_ =
      std::max({next.message_bytes, typical_bytes_ - typical_bytes_ / 128, std::size_t{1}});
  const int lower = that_fit(typical_bytes_, next.messages);
  // The mark rises only if messages of twice the size fit, so that it does not oscillate.
  const int higher = that_fit(2 * typical_bytes_, next.messages);
  const bool is_idle = next.waiting_bytes == 0;
  ticks_until_lower_ = std::max(ticks_until_lower_ - 1, 0);
  const bool is_first = std::exchange(is_first_, false);
  // The caller cannot set the socket's mark now. If the mark changed twice before the caller sets
  // it, the socket would skip a mark.
  if (!next.may_move) return;
  if (is_first) {
    messages_ = lower;
  } else if (higher > messages_ && is_idle) {
    messages_ = higher;
    ticks_until_lower_ = 0;
  } else if (lower < messages_ && ticks_until_lower_ == 0 &&
             (is_idle || next.waiting_bytes > bytes_max_)) {
    // `messages_` is now the new mark. The mark may fall again after that number of ticks: by then
    // the reading end has acknowledged twice under the new mark.
    messages_ /= 2;
    ticks_until_lower_ = messages_;
  }
}

int HighWaterMark::that_fit(std::size_t message_bytes, std::size_t messages) const {
  const std::size_t messages_max = std::bit_ceil(std::max<std::size_t>(messages, 1)) * ticks_max;
  return static_cast<int>(std::bit_floor(
      std::clamp<std::size_t>(bytes_max_ / message_bytes, messages_min, messages_max)));
}

struct ResultsSocket::State {
  State(boost::asio::io_context& loop, zmq::context_t& context, const ResultsSocketOptions& options)
      : socket(context, zmq::socket_type::xpub),
        mark(options.subscriber_bytes_max),
        mark_is_fixed(options.send_hwm > 0) {
    socket.set(zmq::sockopt::affinity, options.io_threads);
    socket.set(zmq::sockopt::xpub_verboser, true);
    socket.set(zmq::sockopt::sndhwm, mark_is_fixed ? options.send_hwm : mark.messages());
    socket.set(zmq::sockopt::linger, options.linger_ms);
    // Subscribers send only topics, which are short.
    socket.set(zmq::sockopt::maxmsgsize, std::int64_t{4096});
    connections = std::make_unique<ConnectionLimit>(loop, context, socket, "results",
                                                    options.connections_max);
    endpoint = bind_endpoint(socket, options.endpoint, options.reach_allowed);
    watch = std::make_unique<ZmqWatch>(loop, socket, [this] { return drain(); });
  }

  bool drain() {
    const std::uint64_t joins_before = joins;
    const bool is_cut_short = receive_topics();
    if (joins > joins_before) set_mark();
    return is_cut_short;
  }

  bool receive_topics() {
    for (int count = 0; count < joins_per_turn; ++count) {
      zmq::message_t part;
      if (!protocol::uninterrupted([&] { return socket.recv(part, zmq::recv_flags::dontwait); }))
        return false;
      const std::string_view text = part.to_string_view();
      if (!text.empty() && text[0] == 1) join(text.substr(1));
      if (!text.empty() && text[0] == 0) leave(text.substr(1));
    }
    return true;
  }

  void join(std::string_view topic) {
    if (topic.size() > topic_bytes_max) return;
    const std::string key(topic);
    if (topics.size() >= topics_max && !topics.contains(key)) return;
    ++topics[key];
    ++total;
    ++joins;
  }

  void leave(std::string_view topic) {
    const auto found = topics.find(std::string(topic));
    if (found == topics.end()) return;
    --total;
    if (--found->second == 0) topics.erase(found);
  }

  // XPUB never blocks: a subscriber for whom too many messages already wait misses the message.
  void send_part(zmq::message_t part, bool is_last) {
    const auto flags =
        is_last ? zmq::send_flags::dontwait : zmq::send_flags::dontwait | zmq::send_flags::sndmore;
    protocol::uninterrupted([&] { return socket.send(part, flags); });
  }

  // Setting sndhwm changes the mark of all existing pipes. A new pipe starts with the mark that was
  // set before bind(), so drain() calls set_mark() when there are new subscriptions. Before ZeroMQ
  // 4.3.5, setting sndhwm while a pipe closes writes to freed memory. If a subscriber has left in
  // the last leaving_us, set_mark() therefore only notes that the mark is due.
  void set_mark() {
    if (mark_is_fixed) return;
    mark_is_due = connections->ended_within(leaving_us);
    if (!mark_is_due) socket.set(zmq::sockopt::sndhwm, mark.messages());
  }

  void follow(const std::vector<protocol::TickMessage>& messages) {
    HighWaterMark::NextTick next{.messages = messages.size(),
                                 .waiting_bytes = *waiting,
                                 .may_move = !connections->ended_within(leaving_us)};
    for (const protocol::TickMessage& message : messages)
      next.message_bytes = std::max(next.message_bytes, message.bytes());
    const int before = mark.messages();
    mark.follow(next);
    if (mark.messages() != before || mark_is_due) set_mark();
  }

  void send(protocol::TickMessage message) {
    drain();  // also lets ZeroMQ process acknowledgements, and sets the mark of new pipes
    send_part(zmq::message_t(message.topic), false);
    send_part(lend(std::move(message.header), waiting), message.chunks.empty());
    for (std::size_t index = 0; index < message.chunks.size(); ++index)
      send_part(lend(std::move(message.chunks[index]), waiting),
                index + 1 == message.chunks.size());
  }

  zmq::socket_t socket;
  std::string endpoint;
  HighWaterMark mark;
  bool mark_is_fixed;
  bool mark_is_due = false;
  std::shared_ptr<WaitingBytes> waiting = std::make_shared<WaitingBytes>(0);
  std::unordered_map<std::string, std::uint64_t> topics;
  std::uint64_t total = 0;
  std::uint64_t joins = 0;
  std::unique_ptr<ConnectionLimit> connections;
  std::unique_ptr<ZmqWatch> watch;
};

ResultsSocket::ResultsSocket(boost::asio::io_context& loop, zmq::context_t& context,
                             const ResultsSocketOptions& options)
    : state_(std::make_unique<State>(loop, context, options)) {}

ResultsSocket::~ResultsSocket() = default;

const std::string& ResultsSocket::endpoint() const {
  return state_->endpoint;
}

void ResultsSocket::send(std::vector<protocol::TickMessage> messages) {
  state_->follow(messages);
  for (protocol::TickMessage& message : messages) state_->send(std::move(message));
  state_->watch->check_soon();
}

std::size_t ResultsSocket::connection_count() const {
  return state_->connections->count();
}

std::uint64_t ResultsSocket::refused_count() const {
  return state_->connections->refused();
}

std::size_t ResultsSocket::waiting_bytes() const {
  return *state_->waiting;
}

std::uint64_t ResultsSocket::subscriber_count() const {
  return state_->total;
}

std::uint64_t ResultsSocket::join_count() const {
  return state_->joins;
}

std::uint64_t ResultsSocket::subscriber_count(std::string_view topic) const {
  const auto found = state_->topics.find(std::string(topic));
  return found == state_->topics.end() ? 0 : found->second;
}

void ResultsSocket::stop_reading() {
  state_->watch->stop();
}

}  // namespace starling::stream
