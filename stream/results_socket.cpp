// Sends each tick's frames from their own memory and sets XPUB's high-water mark as messages grow
// and shrink: see results_socket.hpp. Called by Ticker.
#include "stream/results_socket.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <zmq.hpp>

#include "protocol/zmq_frames.hpp"
#include "stream/zmq_calls.hpp"
#include "stream/zmq_watch.hpp"

namespace starling::stream {

namespace {

constexpr int joins_per_turn = 256;

// XPUB keeps every topic that its peers ask for; ours is for the count alone and stays bounded.
constexpr std::size_t topics_max = 1u << 16;
constexpr std::size_t topic_bytes_max = 256;

}  // namespace

void HighWaterMark::sent(std::size_t bytes) {
  typical_bytes_ = std::max({bytes, typical_bytes_ - typical_bytes_ / 128, std::size_t{1}});
}

int HighWaterMark::messages() const {
  return static_cast<int>(std::clamp<std::size_t>(bytes_max_ / typical_bytes_, 2, 100'000));
}

struct ResultsSocket::State {
  State(boost::asio::io_context& loop, zmq::context_t& context, const ResultsSocketOptions& options)
      : socket(context, zmq::socket_type::xpub),
        mark(options.subscriber_bytes_max),
        mark_is_fixed(options.send_hwm > 0),
        mark_set(mark_is_fixed ? options.send_hwm : mark.messages()) {
    socket.set(zmq::sockopt::xpub_verboser, true);
    socket.set(zmq::sockopt::sndhwm, mark_set);
    socket.set(zmq::sockopt::linger, options.linger_ms);
    // Peers only send topics here.
    socket.set(zmq::sockopt::maxmsgsize, std::int64_t{4096});
    socket.bind(options.endpoint);
    endpoint = socket.get(zmq::sockopt::last_endpoint);
    watch = std::make_unique<ZmqWatch>(loop, socket, [this] { return drain(); });
  }

  bool drain() {
    for (int count = 0; count < joins_per_turn; ++count) {
      zmq::message_t part;
      if (!uninterrupted([&] { return socket.recv(part, zmq::recv_flags::dontwait); }))
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

  // XPUB never says that it would block: who is beyond the mark misses the message.
  void send_part(zmq::message_t part, bool is_last) {
    const auto flags =
        is_last ? zmq::send_flags::dontwait : zmq::send_flags::dontwait | zmq::send_flags::sndmore;
    uninterrupted([&] { return socket.send(part, flags); });
  }

  // Existing subscribers' pipes follow the option.
  void follow_mark(std::size_t bytes) {
    if (mark_is_fixed) return;
    mark.sent(bytes);
    const int wanted = mark.messages();
    const bool is_far = wanted < mark_set || wanted > mark_set + mark_set / 4;
    if (!is_far) return;
    socket.set(zmq::sockopt::sndhwm, wanted);
    mark_set = wanted;
  }

  zmq::socket_t socket;
  std::string endpoint;
  HighWaterMark mark;
  bool mark_is_fixed;
  int mark_set;
  std::unordered_map<std::string, std::uint64_t> topics;
  std::uint64_t total = 0;
  std::uint64_t joins = 0;
  std::unique_ptr<ZmqWatch> watch;
};

ResultsSocket::ResultsSocket(boost::asio::io_context& loop, zmq::context_t& context,
                             const ResultsSocketOptions& options)
    : state_(std::make_unique<State>(loop, context, options)) {}

ResultsSocket::~ResultsSocket() = default;

const std::string& ResultsSocket::endpoint() const {
  return state_->endpoint;
}

void ResultsSocket::send(protocol::TickMessage message) {
  State& state = *state_;
  state.follow_mark(message.bytes());
  state.send_part(zmq::message_t(message.topic), false);
  state.send_part(protocol::to_message(std::move(message.header)), message.chunks.empty());
  for (std::size_t index = 0; index < message.chunks.size(); ++index)
    state.send_part(protocol::to_message(std::move(message.chunks[index])),
                    index + 1 == message.chunks.size());
  state.watch->check_soon();
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
