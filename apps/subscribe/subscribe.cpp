// SPDX-License-Identifier: Apache-2.0
// The flags of `starling subscribe`, and the loop that polls the subscriber and shows the ticks
// that it applies: see subscribe.hpp.
#include "starling/apps/subscribe/subscribe.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>
#include <zmq.hpp>

#include "starling/apps/shared/exact_flag.hpp"
#include "starling/apps/shared/process/stop_signals.hpp"
#include "starling/apps/shared/server/key_flags.hpp"
#include "starling/apps/shared/server/server_flags.hpp"
#include "starling/apps/subscribe/live_table.hpp"
#include "starling/apps/subscribe/name_lookup.hpp"
#include "starling/apps/subscribe/tick_rate.hpp"
#include "starling/apps/subscribe/tick_writers.hpp"
#include "starling/knn/base/plain_text.hpp"
#include "starling/knn/base/time_text.hpp"
#include "starling/protocol/client/subscriber.hpp"
#include "starling/protocol/wire/text_id.hpp"
#include "starling/sim/data/files/quoted_text.hpp"
#include "starling/sim/replay/result_csv.hpp"

namespace starling::apps {
namespace {

// The loop looks for stop signals between two waits of this length.
constexpr std::int64_t wait_max_ms = 100;
// The time to wait for an answer of the server. The loop does nothing else meanwhile.
constexpr std::int64_t request_timeout_ms = 2000;

struct Options {
  std::string stream;
  std::string commands = "tcp://127.0.0.1:7411";
  std::string results;
  std::string format = "table";
  std::vector<std::string> queries;
  std::vector<std::string> subjects;
  std::vector<std::string> with;
  bool exact = false;
  std::uint64_t ticks_max = 0;
  std::string refresh;
  KeyFlags key;
};

void say(const std::string& sentence) {
  std::cerr << "starling subscribe: " << plain_text(sentence) << '\n';
}

protocol::ClientOptions client_options(const Options& options, const char* name) {
  return {.commands = options.commands,
          .name = name,
          .key = key_of(options.key),
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
  for (const std::string& text : options.subjects)
    result.subscription.subject_ids.push_back(to_number(protocol::id_of_text(text)));
  return result;
}

std::string check_refresh(const std::string& text) {
  if (parse_duration_us(text).value_or(0) >= 1000) return {};
  return "'" + text + "' is not a duration of 1ms or more; write 200ms or 5s, for example";
}

std::chrono::milliseconds refresh_interval(const std::string& text, bool in_place) {
  if (text.empty()) return std::chrono::milliseconds(in_place ? 200 : 5000);
  return std::chrono::milliseconds(*parse_duration_us(text) / 1000);
}

// One run of the command: a subscription and the writer or table that shows it.
class Subscription {
 public:
  explicit Subscription(const Options& options)
      : options_(options), names_(client_options(options, "starling subscribe: names")) {
    if (options.format == "csv")
      writer_ = make_csv_writer(names_.names(), options.with, options.exact);
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
      // A subscriber that has held lists goes on, because rights that were taken away may come
      // back.
      if (subscriber_->obstacle_code() == protocol::ErrorCode::not_allowed && !has_held_)
        throw std::runtime_error(subscriber_->obstacle());
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

  // Makes subscriber_. Leaves it empty only if a stop signal comes before the server answers.
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
    if (at.tick != Tick{0}) say_missing_queries();
    if (has_shown_all()) return;
    if (at.tick != Tick{0}) ++ticks_shown_;  // there is nothing to show before the first tick
    protocol::TickHeader header;
    header.tick = at.tick;
    header.tau_us = at.tau_us;
    header.with = at.with;
    header.space = subscriber_->server().space.space;
    if (writer_) write(whole(header));
  }

  void on_applied(const protocol::DecodedTick& tick) {
    // A failed tick has no count of objects, so the count of the tick before is kept.
    const std::uint64_t objects_before = last_header_ ? last_header_->object_count : 0;
    last_header_ = tick.header;
    if (tick.header.failed) last_header_->object_count = objects_before;
    say_missing_queries();
    if (has_shown_all()) return;
    ++ticks_shown_;
    if (writer_) write(reported(tick));
  }

  void write(ShownTick tick) {
    std::ranges::sort(tick.lists, {}, &ShownList::key);
    names_.with_names(ids_in(tick.lists), [&] { writer_->write(tick); });
  }

  /// Returns all lists that the subscription holds. Called when a snapshot has been received.
  ShownTick whole(const protocol::TickHeader& header) const {
    ShownTick tick{header, true, {}, state().has_votes(), state().has_means()};
    for (const auto& [key, list] : state().lists())
      tick.lists.push_back({key, ListEvent::updated, &list});
    return tick;
  }

  ShownTick reported(const protocol::DecodedTick& tick) const {
    ShownTick result{tick.header, false, {}, state().has_votes(), state().has_means()};
    for (const protocol::ListChunk& chunk : tick.chunks)
      for (std::size_t i = 0; i < chunk.list_count(); ++i) add_reported(chunk, i, result);
    return result;
  }

  void add_reported(const protocol::ListChunk& chunk, std::size_t index, ShownTick& tick) const {
    const protocol::ListKey key = protocol::key_of(chunk, index);
    if (!state().is_wanted(key)) return;
    const auto held = state().lists().find(key);
    const bool is_held = held != state().lists().end();
    tick.lists.push_back({key, chunk.event_of(index), is_held ? &held->second : nullptr});
  }

  void draw_table() {
    TableStatus status{
        .stream = options_.stream,
        .at = *state().held_at(),
        .object_count = last_header_ ? std::optional(last_header_->object_count) : std::nullopt,
        .list_count_reported = last_header_ ? last_header_->list_count : 0,
        .ticks_per_s =
            rate_.read(state().counters().ticks_applied, std::chrono::steady_clock::now()),
        .counters = state().counters(),
        .obstacle = subscriber_->obstacle(),
        .is_vector = subscriber_->server().space.space == Space::vector,
        .has_votes = state().has_votes(),
        .has_means = state().has_means(),
    };
    const protocol::ListStore& lists = state().lists();
    names_.with_names(ids_in_table(lists, table_->size()),
                      [&] { table_->draw(status, lists, names_.names()); });
  }

  /// Prints, once after the first tick, the queries of --query that have no list in the stream.
  /// Their lists may come later, so a missing list is no error.
  void say_missing_queries() {
    if (std::exchange(has_checked_queries_, true)) return;
    std::unordered_set<std::uint64_t> held;
    for (const auto& [key, list] : state().lists()) held.insert(to_number(key.query));
    for (const std::string& query : options_.queries)
      if (!held.contains(to_number(protocol::id_of_text(query))))
        say("the stream " + sim::quoted_text(options_.stream) + " has no list of query " +
            sim::quoted_text(query) + " yet; still listening");
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
  StopSignals signals_;  // made before the context, whose threads inherit the signal mask
  zmq::context_t zmq_;
  NameLookup names_;  // its thread inherits the signal mask too
  std::unique_ptr<TickWriter> writer_;
  std::optional<LiveTable> table_;
  std::optional<protocol::Subscriber> subscriber_;
  std::optional<protocol::TickHeader> last_header_;
  bool has_held_ = false;
  bool has_checked_queries_ = false;
  std::uint64_t ticks_shown_ = 0;
  TickRate rate_;
  std::string said_obstacle_;
};

}  // namespace

std::function<int()> add_subscribe(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *program.add_subcommand(
      "subscribe", "Follow a stream and show it as a live table, CSV or NDJSON");
  command.add_option("stream", options->stream, "The name of the stream")->required();
  command.add_option("--connect", options->commands, "The commands endpoint of the server")
      ->capture_default_str();
  add_results_flag(command, options->results);
  add_key_flags(command, options->key);
  command
      .add_option(
          "--format", options->format,
          "The format of the standard output. csv: "
          "tick,time_us,query_id,rank,object_id,distance_m, and columns vote, value and subject if "
          "the lists have them. An empty list has one row of rank 0, with empty object and "
          "distance; a removed list has one whose rank is empty too")
      ->check(CLI::IsMember({"table", "csv", "ndjson"}))
      ->capture_default_str();
  command
      .add_option("--with", options->with,
                  "Further columns of csv, separated by commas. time: the tick's time as ISO 8601. "
                  "position: of the neighbour, if the stream carries positions. change: entered or "
                  "stayed since the list was last written; an object that left has one more row, "
                  "left, with an empty rank")
      ->delimiter(',')
      ->check(CLI::IsMember(sim::columns_on_request));
  add_exact_flag(command, options->exact);
  command
      .add_option("--query", options->queries,
                  "Show only these queries of the stream. Without this flag, all")
      ->type_name("ID");
  command
      .add_option(
          "--subject", options->subjects,
          "Show only the lists of these objects, if the query keeps a list for every object. "
          "Without this flag, all")
      ->type_name("ID");
  command
      .add_option(
          "--ticks", options->ticks_max,
          "Stop after this many ticks, counting the one that is held at the start. 0: do not stop")
      ->capture_default_str();
  command
      .add_option("--refresh", options->refresh,
                  "The time from table to table [200ms on a terminal, else 5s]")
      ->check(check_refresh)
      ->type_name("DURATION");
  command.footer(
      "Examples:\n"
      "  starling subscribe ships\n"
      "  starling subscribe ships --query harbour --format ndjson\n"
      "  starling subscribe ships --ticks 1 --format csv\n"
      "`starling put stream` makes a stream, and `starling put query` puts a query into it.");
  return [options] {
    if (!options->with.empty() && options->format != "csv")
      throw CLI::ValidationError("--with", "names columns of csv; add --format csv");
    if (options->exact && options->format != "csv")
      throw CLI::ValidationError("--exact", "says how csv writes distances; add --format csv");
    Subscription(*options).run();
    return 0;
  };
}

}  // namespace starling::apps
