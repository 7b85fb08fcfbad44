// SPDX-License-Identifier: Apache-2.0
// Each I/O thread matches a message with its own subscribers. All subscribers share the message's
// frames. See results_socket.hpp.
#include "starling/stream/sockets/results_socket.hpp"

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <utility>

#include "starling/stream/sockets/bind_endpoint.hpp"
#include "starling/stream/sockets/subscriptions.hpp"
#include "starling/stream/zmtp/listener.hpp"
#include "starling/stream/zmtp/mailbox.hpp"

namespace starling::stream {

using zmtp::Connection;
using zmtp::Fault;
using zmtp::Mailbox;
using zmtp::WireMessage;

namespace {

constexpr std::size_t ticks_max = 64;
// The topics of one connection have at most subscriber_topics_max times this many bytes.
constexpr std::size_t bytes_per_topic = 64;
// The most topics of all connections together. Each topic takes a few hundred bytes.
constexpr std::size_t topics_max = std::size_t{1} << 18;
// Each connection may have this many topics in any case, so that other connections cannot shut it
// out.
constexpr std::size_t free_topics = 64;
// If more bytes of messages wait than this many times subscriber_bytes_max, subscribers that read
// nothing are cut.
constexpr std::size_t full_queues_max = 8;
// The memory of a waiting message besides its frames.
constexpr std::size_t message_bytes_besides = 256;

struct Publication {
  std::shared_ptr<const WireMessage> message;
  /// The most messages that may wait for one subscriber, this one included.
  std::size_t messages_max = 0;
};

/// The number of subscriptions to each topic. I/O threads change the numbers, and the loop reads
/// them.
class TopicCounts {
 public:
  /// Counts a subscription. Returns false, and counts nothing, if there are too many subscriptions
  /// and this one is not free.
  bool join(std::string_view topic, bool is_free) {
    const std::lock_guard lock(mutex_);
    if (!is_free && total_ >= topics_max) return false;
    ++counts_[std::string(topic)];
    ++total_;
    ++joins_;
    return true;
  }
  void leave(std::string_view topic) {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(topic);
    if (found == counts_.end()) return;
    --total_;
    if (--found->second == 0) counts_.erase(found);
  }
  std::uint64_t of(std::string_view topic) const {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(topic);
    return found == counts_.end() ? 0 : found->second;
  }
  std::uint64_t total() const {
    const std::lock_guard lock(mutex_);
    return total_;
  }
  std::uint64_t joins() const {
    const std::lock_guard lock(mutex_);
    return joins_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t, std::less<>> counts_;
  std::uint64_t total_ = 0;
  std::uint64_t joins_ = 0;
};

}  // namespace

struct ResultsSocket::State final : zmtp::Traffic {
  using Subscriber = Subscriptions<Connection>::Subscriber;

  /// The subscribers of one I/O thread, and the messages on their way to it.
  struct Desk {
    Desk(State& state, boost::asio::io_context& loop)
        : mailbox(loop, [this, &state] { state.publish(*this); }) {}
    Mailbox<Publication> mailbox;
    Subscriptions<Connection> subscriptions;
  };

  State(zmtp::IoThreads& threads, const ResultsSocketOptions& the_options)
      : options(the_options),
        bound(bind_endpoint(options.endpoint, options.reach_allowed)),
        listener(
            threads, options.io_threads, bound.release(),
            {.session = {.role = zmtp::Role::publisher, .authentication = options.authentication},
             .connections_max = options.connections_max,
             .connection_quota = options.connection_quota,
             .handshakes_max = options.handshakes_max},
            *this) {
    for (std::size_t lane = 0; lane < listener.lane_count(); ++lane)
      desks.push_back(std::make_unique<Desk>(*this, listener.lane(lane).loop));
    listener.start();
  }
  ~State() override {
    listener.close(std::chrono::steady_clock::now() + std::chrono::milliseconds(options.linger_ms));
  }

  Desk& desk_of(const Connection& connection) { return *desks[connection.link()->lane.index]; }
  Subscriber* find(const Connection& connection) {
    return desk_of(connection).subscriptions.find(connection.link()->number);
  }

  // Traffic. I/O threads call these functions. Subscriptions need no room: they are short, and do
  // not wait for the loop.

  bool take_room(Connection&, std::size_t) override { return true; }
  void return_room(Connection&, std::size_t) override {}
  void take_message(Connection&, zmtp::Message, std::size_t) override {}
  bool lacks_room() const override { return false; }
  bool holds_too_much() const override {
    return *waiting > full_queues_max * options.subscriber_bytes_max;
  }

  void established(Connection& connection) override {
    desk_of(connection).subscriptions.add(connection.link()->number, connection);
  }

  void take_subscription(Connection& from, bool joins, std::string_view topic) override {
    Subscriber* const subscriber = find(from);
    if (subscriber == nullptr) return;
    Subscriptions<Connection>& subscriptions = desk_of(from).subscriptions;
    if (!joins) {
      if (subscriptions.leave(*subscriber, topic)) counts.leave(topic);
      return;
    }
    if (options.may_subscribe && !options.may_subscribe(from.link()->principal, topic))
      return from.cut(Fault::forbidden);
    if (subscriber->topics.contains(topic)) return;
    if (subscriber->topics.size() >= options.subscriber_topics_max ||
        subscriber->topic_bytes + topic.size() > options.subscriber_topics_max * bytes_per_topic)
      return from.cut(Fault::topics);
    if (!subscriptions.join(*subscriber, topic)) return;
    if (counts.join(topic, subscriber->topics.size() <= free_topics)) return;
    subscriptions.leave(*subscriber, topic);
    from.cut(Fault::topics);
  }

  void written(Connection& connection, const zmtp::WriteQueue::Written& written) override {
    Subscriber* const subscriber = find(connection);
    subscriber->waiting_bytes -= written.charge;
    subscriber->waiting_messages -= written.messages;
  }

  void closed(Connection& connection, std::size_t, std::size_t) override {
    const Subscriber* const subscriber = find(connection);
    if (subscriber == nullptr) return;
    for (const std::string& topic : subscriber->topics) counts.leave(topic);
    desk_of(connection).subscriptions.remove(connection.link()->number);
  }

  void publish(Desk& desk) {
    std::vector<std::shared_ptr<Connection>> touched;
    for (const Publication& publication : desk.mailbox.take()) {
      const std::span topic = publication.message->parts()[0].bytes;
      const std::size_t charge = publication.message->bytes() + message_bytes_besides;
      desk.subscriptions.match(
          {reinterpret_cast<const char*>(topic.data()), topic.size()}, [&](Subscriber& subscriber) {
            const bool is_full =
                subscriber.waiting_messages > 0 &&
                (subscriber.waiting_bytes + charge > options.subscriber_bytes_max ||
                 subscriber.waiting_messages >= publication.messages_max);
            if (is_full) {
              ++dropped;
              return;
            }
            if (!subscriber.connection->send(publication.message, charge)) {
              ++dropped;
              return;
            }
            subscriber.waiting_bytes += charge;
            if (subscriber.waiting_messages++ == 0)
              touched.push_back(subscriber.connection->shared_from_this());
          });
    }
    for (const auto& connection : touched) connection->flush();
  }

  // The loop calls the functions from here on.

  /// Returns the message for the wire. Its bytes count as waiting until it is destroyed.
  std::shared_ptr<const WireMessage> to_wire(protocol::TickMessage message) {
    std::vector<zmtp::WirePart> parts;
    parts.reserve(2 + message.chunks.size());
    const auto topic = std::make_shared<std::string>(std::move(message.topic));
    parts.push_back({topic, std::as_bytes(std::span(topic->data(), topic->size()))});
    const auto add = [&](protocol::Frame frame) {
      const auto owner = std::make_shared<protocol::Frame>(std::move(frame));
      parts.push_back({owner, owner->bytes()});
    };
    add(std::move(message.header));
    for (protocol::Frame& chunk : message.chunks) add(std::move(chunk));
    auto wire = std::make_unique<WireMessage>(std::move(parts));
    *waiting += wire->bytes();
    return {wire.release(), [counter = waiting](const WireMessage* sent) {
              *counter -= sent->bytes();
              delete sent;
            }};
  }

  void send(std::span<protocol::TickMessage> messages, std::size_t of_tick) {
    const std::size_t messages_max = options.subscriber_ticks_max > 0
                                         ? static_cast<std::size_t>(options.subscriber_ticks_max)
                                         : ticks_max * of_tick;
    for (protocol::TickMessage& message : messages) {
      const auto wire = to_wire(std::move(message));
      for (const auto& desk : desks) desk->mailbox.push({wire, messages_max});
    }
  }

  const ResultsSocketOptions options;
  /// Shared, because a message may outlive the socket.
  std::shared_ptr<std::atomic<std::size_t>> waiting = std::make_shared<std::atomic<std::size_t>>(0);
  std::atomic<std::uint64_t> dropped{0};
  TopicCounts counts;
  std::vector<std::unique_ptr<Desk>> desks;
  BoundEndpoint bound;
  zmtp::Listener listener;
};

ResultsSocket::ResultsSocket(zmtp::IoThreads& threads, const ResultsSocketOptions& options)
    : state_(std::make_unique<State>(threads, options)) {}

ResultsSocket::~ResultsSocket() = default;

const std::string& ResultsSocket::endpoint() const {
  return state_->bound.endpoint();
}

void ResultsSocket::send(std::span<protocol::TickMessage> messages, std::size_t of_tick) {
  state_->send(messages, of_tick);
}

void ResultsSocket::send(std::vector<protocol::TickMessage> messages) {
  state_->send(messages, messages.size());
}

std::size_t ResultsSocket::connection_count() const {
  return state_->listener.connections().count();
}

std::size_t ResultsSocket::handshake_count() const {
  return state_->listener.handshakes().count();
}

Places::GaveWay ResultsSocket::gave_way() const {
  return state_->listener.connections().gave_way();
}

std::uint64_t ResultsSocket::refused_count() const {
  return state_->listener.refused_count();
}

const zmtp::FaultCounts& ResultsSocket::faults() const {
  return state_->listener.faults();
}

std::size_t ResultsSocket::waiting_bytes() const {
  return *state_->waiting;
}

std::uint64_t ResultsSocket::dropped_count() const {
  return state_->dropped;
}

std::uint64_t ResultsSocket::subscriber_count() const {
  return state_->counts.total();
}

std::uint64_t ResultsSocket::join_count() const {
  return state_->counts.joins();
}

std::uint64_t ResultsSocket::subscriber_count(std::string_view topic) const {
  return state_->counts.of(topic);
}

void ResultsSocket::cut(const std::function<bool(zmtp::PrincipalId)>& is_meant) {
  state_->listener.cut(is_meant);
}

}  // namespace starling::stream
