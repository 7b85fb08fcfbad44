// SPDX-License-Identifier: Apache-2.0
// The sockets of a subscription: see subscriber.hpp.
#include "starling/protocol/client/subscriber.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <zmq.hpp>

#include "starling/protocol/client/connect.hpp"
#include "starling/protocol/client/handshake_watch.hpp"
#include "starling/protocol/wire/zmq_frames.hpp"

namespace starling::protocol {
namespace {

constexpr std::string_view tcp = "tcp://";
constexpr std::string_view ipc = "ipc://";

// The most ticks that are taken in before the next look at snapshots and reports, so that a server
// that sends faster than ticks are taken in cannot hold poll().
constexpr int ticks_at_once_max = 256;

}  // namespace

std::string results_of(const HelloReply& server, const std::string& commands) {
  const std::string results = server.results.empty() ? "tcp://*:7412" : server.results;
  if (results.starts_with(tcp) && commands.starts_with(tcp))
    return commands.substr(0, commands.rfind(':')) + results.substr(results.rfind(':'));
  if (results.starts_with(ipc) && commands.starts_with(ipc)) return results;
  throw EndpointError(results, "it cannot be reached by way of " + commands +
                                   "; give the endpoint of the server's results");
}

class Subscriber::Sockets {
 public:
  Sockets(zmq::context_t& context, SubscriberOptions options, SubscriptionHandlers handlers)
      : context_(context),
        options_(std::move(options)),
        state_(options_.subscription, std::move(handlers)),
        topic_(topic_of(options_.subscription.stream)),
        endpoint_(options_.results),
        client_(early_subscribed(), options_.client),
        report_due_(Clock::now() + report_interval()) {
    if (!endpoint_.empty()) return;
    endpoint_ = wanted_endpoint();
    subscribe();
  }

  bool poll(std::int64_t timeout_ms) {
    take_snapshot();
    const bool any = wait_for_tick(timeout_ms);
    if (any) drain();
    take_snapshot();
    take_reply();
    report();
    note_fault();
    return any;
  }

  void miss_tick() { state_.on_tick_missed(); }

  const SubscriptionState& state() const { return state_; }
  const HelloReply& server() const { return client_.server(); }
  const std::string& obstacle() const {
    if (!obstacle_.empty()) return obstacle_;
    return fault_.empty() ? silence_ : fault_;
  }
  ErrorCode obstacle_code() const { return obstacle_code_; }

 private:
  using Clock = std::chrono::steady_clock;

  std::chrono::milliseconds report_interval() const {
    return std::chrono::milliseconds(options_.report_interval_ms);
  }

  std::chrono::milliseconds patience() const {
    return std::chrono::milliseconds(options_.client.reconnect_after_ms);
  }

  std::string wanted_endpoint() const {
    return options_.results.empty() ? results_of(client_.server(), options_.client.commands)
                                    : options_.results;
  }

  /// Subscribes before the client says hello, if the endpoint is known.
  zmq::context_t& early_subscribed() {
    if (!endpoint_.empty()) subscribe();
    return context_;
  }

  /// Subscribes with a new socket.
  void subscribe() {
    watch_.stop();
    results_ = zmq::socket_t(context_, zmq::socket_type::sub);
    results_.set(zmq::sockopt::linger, 0);
    results_.set(zmq::sockopt::rcvhwm, options_.receive_hwm);
    results_.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(server_frame_bytes_max));
    results_.set(zmq::sockopt::subscribe, topic_);
    use_key(results_, options_.client.key);
    watch_.start(context_, results_);
    watch_.ignore_failures();
    connect_to(results_, endpoint_);
  }

  /// Returns true as soon as a tick can be received. Returns false after `timeout_ms`, or earlier
  /// if a report or the next attempt to fetch a snapshot is due.
  bool wait_for_tick(std::int64_t timeout_ms) {
    auto until = std::min(Clock::now() + std::chrono::milliseconds(timeout_ms),
                          reported_at_ ? *reported_at_ + patience() : report_due_);
    if (state_.wanted_page()) until = std::min(until, retry_at_);
    const HandshakeWatch::Seen seen = watch_.wait(results_, until);
    if (seen == HandshakeWatch::Seen::endless) {
      state_.on_endless_tick();
      subscribe();
    }
    return seen == HandshakeWatch::Seen::message;
  }

  /// Receives the waiting messages, so that the socket's own queue stays short.
  void drain() {
    for (int ticks = 0; ticks < ticks_at_once_max; ++ticks) {
      auto frames = receive_message();
      if (!frames) return;
      state_.on_tick(to_tick(std::move(*frames)));
    }
  }

  void note_fault() {
    if (state_.fault().empty() && fault_.empty()) return;
    fault_ = state_.fault().empty()
                 ? std::string()
                 : "The server at " + options_.client.commands + " " + state_.fault();
  }

  std::optional<std::vector<zmq::message_t>> receive_message() {
    std::vector<zmq::message_t> frames;
    do {
      zmq::message_t frame;
      if (!receive_now(results_, frame)) return std::nullopt;
      frames.push_back(std::move(frame));
    } while (frames.back().more());
    return frames;
  }

  ReceivedTick to_tick(std::vector<zmq::message_t> messages) const {
    const auto owner = std::make_shared<std::vector<zmq::message_t>>(std::move(messages));
    std::vector<AlignedBytes> frames;
    for (std::size_t at = 1; at < owner->size(); ++at) frames.push_back(to_aligned((*owner)[at]));
    ReceivedTick received = receive_tick(std::move(frames), owner);
    // The topics of a subscription to "riders" and a NUL begin with these bytes, and may go on.
    if (owner->front().to_string_view() != topic_)
      received.tick.problem = Problem{ErrorCode::malformed, "Its topic is of another stream."};
    return received;
  }

  /// Fetches a snapshot page by page and reads ticks in between. If the server refuses or does not
  /// answer, a later call tries again.
  void take_snapshot() {
    while (Clock::now() >= retry_at_) {
      const auto request = state_.wanted_page();
      if (!request) return;
      std::optional<Problem> fault;
      const auto page = ask([&] {
        return client_.get_snapshot_page(*request,
                                         [&](const auto& p) { fault = state_.on_page(p); });
      });
      if (!page) state_.on_page_refused();
      if (!page || *page == 0 || fault)
        retry_at_ = Clock::now() + std::chrono::milliseconds(options_.retry_interval_ms);
      drain();
    }
  }

  /// Sends a report if one is due. Does not wait for the reply, so that a server that hangs does
  /// not block poll().
  void report() {
    if (reported_at_ || Clock::now() < report_due_) return;
    report_due_ = Clock::now() + report_interval();
    const auto report = state_.report();
    if (!report) return;
    if (const auto problem = client_.begin_report(*report))
      obstacle_ = problem->sentence;
    else
      reported_at_ = Clock::now();
  }

  /// Takes the reply to the last report if it has arrived. If it is overdue, waits for it, and
  /// reconnects if the server still does not answer.
  void take_reply() {
    if (!reported_at_) return;
    if (!client_.has_arrival() && Clock::now() < *reported_at_ + patience()) return;
    reported_at_.reset();
    if (const auto reply = ask([&] { return client_.finish_report(); }))
      state_.on_reported(reply->sequence);
    silence_ = state_.is_silent() ? silence() : "";
  }

  std::string silence() const {
    return "The server sends messages of the stream \"" + options_.subscription.stream +
           "\", but none comes from " + endpoint_ + "; it says that its results listen on " +
           client_.server().results + ". Until they come, each list is a second or two old.";
  }

  /// Subscribes with a new socket if libzmq has given up the old one, or if a restarted server
  /// listens on another endpoint. Messages that were published meanwhile are lost, so a snapshot is
  /// needed.
  void follow_server() {
    std::string wanted = wanted_endpoint();
    if (!is_refused_ && wanted == endpoint_) return;
    endpoint_ = std::move(wanted);
    subscribe();
    is_refused_ = false;
    state_.on_tick_missed();
  }

  /// Calls `request` and keeps its refusal or timeout as the obstacle.
  template <class Request>
  auto ask(const Request& request) -> decltype(request()) {
    obstacle_code_ = ErrorCode::none;
    try {
      auto answer = request();
      follow_server();
      obstacle_ = answer ? "" : answer.problem().sentence;
      if (!answer) obstacle_code_ = answer.problem().code;
      return answer;
    } catch (const TimeoutError& error) {
      obstacle_ = error.what();
      return Problem{ErrorCode::busy, obstacle_};
    } catch (const EndpointError& error) {
      obstacle_ = error.what();
      return Problem{ErrorCode::busy, obstacle_};
    } catch (const KeyError& error) {
      obstacle_ = error.what();
      is_refused_ = true;
      return Problem{ErrorCode::busy, obstacle_};
    }
  }

  zmq::context_t& context_;
  SubscriberOptions options_;
  SubscriptionState state_;
  std::string topic_;
  std::string endpoint_;  ///< endpoint to which results_ is connected
  zmq::socket_t results_;
  HandshakeWatch watch_{options_.subscription.buffer_bytes_max};  ///< watches results_
  Client client_;
  Clock::time_point report_due_;
  std::optional<Clock::time_point> reported_at_{};  ///< send time of an unanswered report
  Clock::time_point retry_at_ = Clock::time_point::min();
  std::string obstacle_;  ///< why the last request failed; empty: it succeeded
  std::string silence_;   ///< says that the stream's messages do not come; empty: they come
  std::string fault_;     ///< what is wrong with the server's messages; empty: nothing
  ErrorCode obstacle_code_ = ErrorCode::none;
  bool is_refused_ = false;  ///< the server refused the key, so libzmq no longer connects results_
};

Subscriber::Subscriber(zmq::context_t& context, SubscriberOptions options,
                       SubscriptionHandlers handlers)
    : sockets_(std::make_unique<Sockets>(context, std::move(options), std::move(handlers))) {}
Subscriber::~Subscriber() = default;

bool Subscriber::poll(std::int64_t timeout_ms) {
  return sockets_->poll(timeout_ms);
}

void Subscriber::miss_tick() {
  sockets_->miss_tick();
}

const SubscriptionState& Subscriber::state() const {
  return sockets_->state();
}

const HelloReply& Subscriber::server() const {
  return sockets_->server();
}

const std::string& Subscriber::obstacle() const {
  return sockets_->obstacle();
}

ErrorCode Subscriber::obstacle_code() const {
  return sockets_->obstacle_code();
}

}  // namespace starling::protocol
