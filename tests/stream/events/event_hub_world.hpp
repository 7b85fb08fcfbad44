// SPDX-License-Identifier: Apache-2.0
// An event hub without sockets and threads: its thread is an executor with a clock of the test, its
// readers keep what they are sent, and the test answers its requests for snapshots.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/stream/events/event_hub.hpp"
#include "tests/stream/support/manual_executor.hpp"

namespace starling::stream {

inline constexpr std::uint64_t hub_epoch = 7;
inline constexpr std::int64_t second_us = 1'000'000;

/// Returns what follows `key` in a text, up to one of these ends.
inline std::string text_after(const std::string& text, const std::string& key, const char* ends) {
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + key.size();
  return text.substr(begin, text.find_first_of(ends, begin) - begin);
}

/// Returns the type of an event and its number, such as "tick 3".
inline std::string event_name(const std::string& text) {
  if (text == ":\n\n") return "heartbeat";
  const std::string type = text_after(text, "event: ", "\n");
  if (text.find("\"restarted\":true") != std::string::npos) return type + " restarted";
  const std::string number =
      text_after(text, type == "gap" ? "\"missed\":" : "\"sequence\":", ",}");
  return number.empty() ? type : type + " " + number;
}

/// A reader that takes what it is sent when the world runs, or if it is slow when the test says so.
class FakeReader final : public PushLink {
 public:
  FakeReader(const ManualExecutor& clock, Handlers handlers)
      : clock_(clock), handlers_(std::move(handlers)), progress_us_(clock.now_us()) {}

  void start() override { is_started = true; }
  void send(std::vector<Text> texts) override {
    EXPECT_TRUE(is_idle()) << "two sends at a time";
    if (is_closed || texts.empty()) return;
    sending_ = std::move(texts);
    progress_us_ = clock_.now_us();
  }
  bool is_idle() const override { return sending_.empty(); }
  std::int64_t progress_us() const override { return progress_us_; }
  void finish() override {
    is_last_ = true;
    finish_if_idle();
  }
  void close() override {
    if (!std::exchange(is_closed, true)) handlers_.ended();
  }

  /// Reads what is being sent. Returns false if it is nothing.
  bool take() {
    if (is_closed || is_idle()) return false;
    for (const Text& text : sending_) {
      events.push_back(event_name(*text));
      last_text = *text;
    }
    sending_.clear();
    progress_us_ = clock_.now_us();
    handlers_.sent();
    finish_if_idle();
    return true;
  }

  std::vector<std::string> events;
  std::string last_text;
  bool is_started = false;
  bool is_slow = false;
  bool is_closed = false;

 private:
  void finish_if_idle() {
    if (is_last_ && is_idle()) close();
  }

  const ManualExecutor& clock_;
  Handlers handlers_;
  std::vector<Text> sending_;
  std::int64_t progress_us_;
  bool is_last_ = false;
};

/// A request of the hub that waits for its reply.
struct AskedOfHub {
  zmtp::PrincipalId principal{};
  WireGateway::Make make;
  WireGateway::Take take;

  protocol::GetSnapshot snapshot() const { return std::get<protocol::GetSnapshot>(make()); }
};

/// A page of a snapshot whose lists are empty.
struct FakePage {
  std::uint64_t sequence = 0;
  std::vector<std::uint64_t> queries{};
  std::uint64_t next_page = 0;
  std::uint64_t list_count = 0;
};

class EventHubWorld {
 public:
  explicit EventHubWorld(const EventLimits& limits = prompt())
      : hub({.loop = loop,
             .limits = limits,
             .quota = [this](zmtp::PrincipalId id) -> std::optional<std::uint64_t> {
               const auto found = quotas.find(id);
               if (found == quotas.end()) return std::nullopt;
               return found->second;
             },
             .epoch = hub_epoch,
             .send =
                 [this](zmtp::PrincipalId principal, WireGateway::Make make, WireGateway::Take take,
                        const WireSender&) {
                   asked.push_back({principal, std::move(make), std::move(take)});
                 },
             .reply_owner = [this] { return reply_; },
             .fault_of_stream =
                 [this](std::string_view stream) -> std::optional<protocol::Problem> {
               if (streams.contains(std::string(stream))) return std::nullopt;
               return protocol::Problem{
                   protocol::ErrorCode::unknown_stream, "There is no such stream.", {}};
             },
             .name_of = [](ObjectId) { return std::string_view(); }},
            {.thread = thread, .move = [this](HandedOver) -> PushLink::Make {
               return [this](PushLink::Handlers handlers) {
                 readers.push_back(std::make_shared<FakeReader>(thread, std::move(handlers)));
                 return readers.back();
               };
             }}) {}
  EventHubWorld(const EventHubWorld&) = delete;
  EventHubWorld& operator=(const EventHubWorld&) = delete;
  ~EventHubWorld() {
    hub.close();
    run();
  }

  /// Limits with which each tick is flushed at once.
  static EventLimits prompt() {
    EventLimits limits;
    limits.flush_us = 0;
    return limits;
  }

  HttpAnswer get_events(const std::string& stream = "cars", zmtp::PrincipalId principal = {},
                        const std::string& last_event_id = "") {
    std::vector<HttpAnswer> answers;
    hub.get_events({{principal}, {}, stream, last_event_id},
                   [&](HttpAnswer answer) { answers.push_back(std::move(answer)); });
    if (answers.size() != 1) throw std::runtime_error("not one answer");
    return std::move(answers[0]);
  }
  /// Gives the connection of an answer to the hub, as HttpServer does.
  void hand_over(const HttpAnswer& answer) {
    answer.hand_over({boost::asio::ip::tcp::socket(loop), ""});
  }
  FakeReader& join(const std::string& stream = "cars", zmtp::PrincipalId principal = {},
                   const std::string& last_event_id = "") {
    const std::size_t before = readers.size();
    hand_over(get_events(stream, principal, last_event_id));
    run();
    if (readers.size() != before + 1) throw std::runtime_error("the reader did not join");
    return *readers.back();
  }
  /// A reader that has an empty snapshot before the first tick.
  FakeReader& join_with_snapshot(const std::string& stream = "cars",
                                 zmtp::PrincipalId principal = {}) {
    FakeReader& reader = join(stream, principal);
    if (!asked.empty()) reply({});
    return reader;
  }

  void publish(std::uint64_t sequence, const std::string& stream = "cars",
               bool is_removed = false) {
    const protocol::TickHeader header = header_of(sequence, is_removed);
    hub.publish(stream, header, protocol::encode_tick(stream, header, {}));
  }
  static protocol::TickMessage message_of(std::uint64_t sequence) {
    return protocol::encode_tick("cars", header_of(sequence, false), {});
  }
  void tick(std::uint64_t sequence, const std::string& stream = "cars") {
    publish(sequence, stream);
    run();
  }
  void ticks(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t sequence = first; sequence <= last; ++sequence) tick(sequence);
  }

  /// Answers the oldest request for a snapshot.
  void reply(const FakePage& page) {
    std::vector<QueryReport> lists;
    for (const std::uint64_t query : page.queries) lists.emplace_back().query = QueryId{query};
    struct Held {
      protocol::Frame frame;
      protocol::AlignedBytes bytes;
    };
    auto held = std::make_shared<Held>();
    held->frame = protocol::encode_snapshot_page(
        {},
        {.stream = "cars",
         .epoch = hub_epoch,
         .tick = Tick{page.sequence},
         .sequence = page.sequence,
         .next_page = page.next_page,
         .list_count = std::max<std::uint64_t>(page.list_count, lists.size())},
        {.reports = lists, .with = {.distance = false}});
    held->bytes = protocol::AlignedBytes(held->frame.bytes());
    const protocol::ReplyBody body = protocol::decode_reply(held->bytes).body;
    reply_ = std::move(held);
    give(body);
    const std::weak_ptr<const void> kept = std::exchange(reply_, nullptr);
    is_reply_kept = !kept.expired();
    run();
    EXPECT_TRUE(kept.expired()) << "the reply is kept for too long";
  }
  void refuse(const protocol::Problem& problem) {
    give(protocol::ErrorReply{.problem = problem});
    run();
  }

  /// Runs the loop, the thread and the readers that are not slow until nothing is to do.
  void run() {
    for (int turn = 0; turn < turns_max; ++turn) {
      bool is_busy = thread.run_one();
      loop.restart();
      is_busy = loop.poll() > 0 || is_busy;
      for (const auto& reader : readers) is_busy = (!reader->is_slow && reader->take()) || is_busy;
      if (!is_busy) return;
    }
    ADD_FAILURE() << "the hub always has something to do";
  }
  /// Lets time pass.
  void pass(std::int64_t duration_us) {
    constexpr std::int64_t step_us = 50'000;
    for (; duration_us > 0; duration_us -= step_us) {
      thread.advance(std::min(duration_us, step_us));
      run();
    }
  }
  /// Lets time pass, and then forgets streams without readers, as the server does regularly.
  void expire(std::int64_t passed_us) {
    pass(passed_us);
    hub.expire(thread.now_us());
    run();
  }

  boost::asio::io_context loop;
  ManualExecutor thread;
  std::map<zmtp::PrincipalId, std::uint64_t> quotas;
  std::set<std::string> streams{"cars", "bikes", "boats"};
  std::deque<AskedOfHub> asked;
  std::vector<std::shared_ptr<FakeReader>> readers;
  bool is_reply_kept = false;  ///< the hub kept the memory of the last reply for its thread

 private:
  static constexpr int turns_max = 10'000;

  static protocol::TickHeader header_of(std::uint64_t sequence, bool is_removed) {
    return {.epoch = hub_epoch,
            .tick = Tick{sequence},
            .sequence = sequence,
            .stream_removed = is_removed};
  }
  void give(const protocol::ReplyBody& body) {
    if (asked.empty()) throw std::runtime_error("the hub asks nothing");
    const AskedOfHub oldest = std::move(asked.front());
    asked.pop_front();
    oldest.take(body);
  }

  std::shared_ptr<const void> reply_;

 public:
  EventHub hub;
};

}  // namespace starling::stream
