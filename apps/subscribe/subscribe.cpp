// The flags of `starling subscribe`, and the loop that polls the subscriber and shows what it
// applied: see subscribe.hpp.
#include "apps/subscribe/subscribe.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>
#include <zmq.hpp>

#include "apps/shared/stop_signals.hpp"
#include "apps/subscribe/live_table.hpp"
#include "apps/subscribe/name_lookup.hpp"
#include "apps/subscribe/tick_writers.hpp"
#include "protocol/client/subscriber.hpp"
#include "protocol/wire/text_id.hpp"
#include "sim/files/time_text.hpp"

namespace starling::apps {
namespace {

// The signals to stop are asked for between two waits.
constexpr std::int64_t wait_max_ms = 100;
// A server that is away is asked again after so long; nothing else happens meanwhile.
constexpr std::int64_t request_timeout_ms = 2000;

struct Options {
  std::string stream;
  std::string commands = "tcp://127.0.0.1:7411";
  std::string results = "tcp://127.0.0.1:7412";
  std::string format = "table";
  std::vector<std::string> queries;
  std::uint64_t ticks_max = 0;
  std::string refresh;
};

void say(const std::string& sentence) {
  std::cerr << "starling subscribe: " << sentence << '\n';
}

protocol::ClientOptions client_options(const Options& options, const char* name) {
  return {.commands = options.commands,
          .name = name,
          .timeout_ms = request_timeout_ms,
          .reconnect_after_ms = request_timeout_ms / 2};
}

protocol::SubscriberOptions subscriber_options(const Options& options) {
  protocol::SubscriberOptions result;
  result.results = options.results;
  result.client = client_options(options, "starling subscribe");
  result.subscription.stream = options.stream;
  for (const std::string& text : options.queries)
    result.subscription.query_ids.push_back(to_number(protocol::id_of_text(text)));
  return result;
}

std::string check_refresh(const std::string& text) {
  if (sim::parse_duration_us(text).value_or(0) >= 1000) return {};
  return "'" + text + "' is no duration of 1ms or more; write 200ms or 5s";
}

std::chrono::milliseconds refresh_interval(const std::string& text, bool in_place) {
  if (text.empty()) return std::chrono::milliseconds(in_place ? 200 : 5000);
  return std::chrono::milliseconds(*sim::parse_duration_us(text) / 1000);
}

// One run of the command: a subscription and what shows it.
class Subscription {
 public:
  explicit Subscription(const Options& options)
      : options_(options), names_(client_options(options, "starling subscribe: names")) {
    if (options.format == "csv") writer_ = make_csv_writer(names_.names());
    if (options.format == "ndjson") writer_ = make_ndjson_writer(std::cout, names_.names());
    if (options.format == "table") {
      const bool in_place = isatty(STDOUT_FILENO) != 0;
      table_.emplace(std::cout, in_place, refresh_interval(options.refresh, in_place));
    }
  }

  void run() {
    connect();
    if (!subscriber_) return;
    while (!is_done()) {
      subscriber_->poll(wait_max_ms);
      say_obstacle(subscriber_->obstacle());
      if (table_ && table_->is_due() && state().held_at()) draw_table();
    }
    if (table_ && state().held_at()) draw_table();
    if (writer_) writer_->end();
    say_summary();
  }

 private:
  const protocol::SubscriptionState& state() const { return subscriber_->state(); }

  bool is_done() { return signals_.asked_to_stop() || has_shown_all(); }
  bool has_shown_all() const {
    return options_.ticks_max > 0 && ticks_shown_ >= options_.ticks_max;
  }

  // Leaves no subscriber only where the signal to stop came first.
  void connect() {
    protocol::SubscriptionHandlers handlers;
    handlers.applied = [this](const protocol::DecodedTick& tick) { on_applied(tick); };
    handlers.replaced = [this](const protocol::HeldAt& at) { on_replaced(at); };
    handlers.lost = [](std::uint64_t ticks) {
      say(std::to_string(ticks) + " ticks were lost; taking a snapshot");
    };
    handlers.restarted = [] { say("the server was restarted; taking a snapshot"); };
    while (!subscriber_ && !signals_.asked_to_stop()) try {
        subscriber_.emplace(zmq_, subscriber_options(options_), handlers);
      } catch (const protocol::TimeoutError& error) {
        say_obstacle(error.what());
      }
  }

  void on_replaced(const protocol::HeldAt& at) {
    if (has_held_) say("caught up at tick " + std::to_string(to_number(at.tick)));
    has_held_ = true;
    if (has_shown_all()) return;
    if (at.tick != Tick{0}) ++ticks_shown_;  // before the first tick there is nothing to show
    protocol::TickHeader header;
    header.tick = at.tick;
    header.tau_us = at.tau_us;
    header.with = at.with;
    header.space = subscriber_->server().space.space;
    if (writer_) write(whole(header));
  }

  void on_applied(const protocol::DecodedTick& tick) {
    last_header_ = tick.header;
    if (has_shown_all()) return;
    ++ticks_shown_;
    if (writer_) write(reported(tick));
  }

  void write(ShownTick tick) {
    std::ranges::sort(tick.lists, {}, &ShownList::key);
    names_.with_names(ids_in(tick.lists), [&] { writer_->write(tick); });
  }

  /// Everything held, as a snapshot has left it.
  ShownTick whole(const protocol::TickHeader& header) const {
    ShownTick tick{header, true, {}, state().has_votes()};
    for (const auto& [key, list] : state().lists())
      tick.lists.push_back({key, ListEvent::updated, &list});
    return tick;
  }

  ShownTick reported(const protocol::DecodedTick& tick) const {
    ShownTick result{tick.header, false, {}, state().has_votes()};
    for (const protocol::ListChunk& chunk : tick.chunks)
      for (std::size_t i = 0; i < chunk.list_count(); ++i) add_reported(chunk, i, result);
    return result;
  }

  void add_reported(const protocol::ListChunk& chunk, std::size_t index, ShownTick& tick) const {
    if (!is_wanted(chunk.query_ids[index])) return;
    const protocol::ListKey key = protocol::key_of(chunk, index);
    const auto held = state().lists().find(key);
    const bool is_held = held != state().lists().end();
    tick.lists.push_back({key, chunk.event_of(index), is_held ? &held->second : nullptr});
  }

  bool is_wanted(std::uint64_t query_id) const {
    return options_.queries.empty() || std::ranges::any_of(options_.queries, [&](const auto& text) {
             return to_number(protocol::id_of_text(text)) == query_id;
           });
  }

  void draw_table() {
    const auto now = std::chrono::steady_clock::now();
    const double elapsed_s = std::chrono::duration<double>(now - drawn_at_).count();
    const std::uint64_t applied = state().counters().ticks_applied;
    TableStatus status{
        .stream = options_.stream,
        .at = *state().held_at(),
        .object_count = last_header_ ? std::optional(last_header_->object_count) : std::nullopt,
        .list_count_reported = last_header_ ? last_header_->list_count : 0,
        .ticks_per_s = static_cast<double>(applied - ticks_drawn_) / elapsed_s,
        .counters = state().counters(),
        .obstacle = subscriber_->obstacle(),
        .is_vector = subscriber_->server().space.space == Space::vector,
        .has_votes = state().has_votes(),
    };
    const protocol::ListStore& lists = state().lists();
    names_.with_names(ids_in_table(lists, table_->size()),
                      [&] { table_->draw(status, lists, names_.names()); });
    drawn_at_ = now;
    ticks_drawn_ = applied;
  }

  void say_obstacle(const std::string& obstacle) {
    if (!obstacle.empty() && obstacle != said_obstacle_) say(obstacle + " Trying again.");
    said_obstacle_ = obstacle;
  }

  void say_summary() const {
    const protocol::SubscriptionCounters& counters = state().counters();
    say(std::to_string(counters.ticks_applied) + " ticks, " +
        std::to_string(state().lists().size()) + " lists held, " +
        std::to_string(counters.ticks_lost) + " ticks lost, " + std::to_string(counters.snapshots) +
        " snapshots, " + std::to_string(counters.restarts) + " restarts");
  }

  const Options& options_;
  StopSignals signals_;  // before the context, whose threads inherit the mask
  zmq::context_t zmq_;
  NameLookup names_;  // its thread inherits the mask too
  std::unique_ptr<TickWriter> writer_;
  std::optional<LiveTable> table_;
  std::optional<protocol::Subscriber> subscriber_;
  std::optional<protocol::TickHeader> last_header_;
  bool has_held_ = false;
  std::uint64_t ticks_shown_ = 0;
  std::uint64_t ticks_drawn_ = 0;
  std::chrono::steady_clock::time_point drawn_at_ = std::chrono::steady_clock::now();
  std::string said_obstacle_;
};

}  // namespace

std::function<int()> add_subscribe(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App& command =
      *program.add_subcommand("subscribe", "Follow a stream as a live table, CSV or NDJSON");
  command.add_option("stream", options->stream, "The stream's name")->required();
  command.add_option("--connect", options->commands, "The server's commands endpoint")
      ->capture_default_str();
  command.add_option("--results", options->results, "The server's results endpoint")
      ->capture_default_str();
  command
      .add_option("--format", options->format,
                  "What to write to the standard output. csv: "
                  "tick,time_us,query_id,rank,object_id,distance_m, then vote and subject where "
                  "lists have them; a list that is left empty or goes has one row more, with an "
                  "empty rank")
      ->check(CLI::IsMember({"table", "csv", "ndjson"}))
      ->capture_default_str();
  command.add_option("--query", options->queries, "Only these queries of the stream")
      ->type_name("ID");
  command
      .add_option("--ticks", options->ticks_max,
                  "Stop after so many ticks, the one held at the start included; 0: go on")
      ->capture_default_str();
  command
      .add_option("--refresh", options->refresh,
                  "How often the table is drawn [200ms; without a terminal 5s]")
      ->check(check_refresh)
      ->type_name("DURATION");
  return [options] {
    Subscription(*options).run();
    return 0;
  };
}

}  // namespace starling::apps
