// SPDX-License-Identifier: Apache-2.0
// Connects the parts of a replay: see replay_run.hpp.
#include "starling/apps/replay/replay_run.hpp"

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <zmq.hpp>

#include "starling/apps/replay/replay_forecast.hpp"
#include "starling/apps/shared/embedded_host.hpp"
#include "starling/apps/shared/own_input.hpp"
#include "starling/apps/shared/process/stop_signals.hpp"
#include "starling/apps/shared/progress_line.hpp"
#include "starling/apps/shared/speed_flag.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/quoted_text.hpp"
#include "starling/sim/data/files/text_output.hpp"
#include "starling/sim/host/server_host.hpp"
#include "starling/sim/replay/forecast.hpp"
#include "starling/sim/replay/query_file.hpp"
#include "starling/sim/replay/result_csv.hpp"

namespace starling::apps {
namespace {

using Clock = std::chrono::steady_clock;

class Replay {
 public:
  explicit Replay(const ReplayPlan& plan)
      : plan_(plan), forecast_(plan.tick_us, plan.sort.order == sim::RowOrder::file) {
    if (!plan_.out.empty() && sim::TextOutput::is_ordinary(plan_.out))
      stopping_.emplace(stop_.emplace(), [] {});
  }

  ReplaySummary run() {
    const sim::Trace trace(plan_.paths, plan_.trace);
    print_notes("replay", trace);
    check_output(trace);
    if (plan_.out.empty()) say_nothing_is_written();
    summary_.source = describe(trace);
    const SpaceOptions space = agree_on_space(trace.space());
    const Lattice lattice(space);
    read_rows(trace, lattice);
    std::vector<protocol::QuerySpec> standing = queries(lattice);
    print_forecast(plan_, forecast_, standing);
    note_never_seen(standing);
    start_host(space, std::move(standing));
    run_clock();
    return std::move(summary_);
  }

 private:
  static std::string describe(const sim::Trace& trace) {
    std::set<std::string_view> titles;
    for (const sim::Trace::File& file : trace.files()) titles.insert(file.layout->title);
    std::string text;
    for (const std::string_view title : titles)
      text += (text.empty() ? "" : ", ") + std::string(title);
    return text + ", " + std::to_string(trace.files().size()) +
           (trace.files().size() == 1 ? " file, " : " files, ") +
           std::string(to_string(trace.space()));
  }

  void say_nothing_is_written() const {
    if (plan_.commands.empty())
      std::fputs("replay: without --out FILE no list is written; the replay only measures\n",
                 stderr);
    else
      std::fprintf(
          stderr,
          "replay: without --out FILE no list is written here; the server sends the lists to "
          "subscribers of the stream %s\n",
          sim::quoted_text(plan_.stream).c_str());
  }

  // Called before the long work of the replay, so that a bad --out is found at once. An old file
  // stays until the new one is complete.
  void check_output(const sim::Trace& trace) const {
    if (plan_.out.empty()) return;
    std::vector<std::string> inputs = trace.paths();
    inputs.push_back(plan_.query_file);
    refuse_own_input({"--out", plan_.out, "replay"}, inputs);
    sim::TextOutput::check(plan_.out);
  }

  static std::string serve_command(Space trace_space) {
    return "for this trace: starling serve --tick manual --space " +
           std::string(to_string(trace_space));
  }

  std::unique_ptr<sim::ServerHost> connect(Space trace_space) {
    zmq_.emplace();
    try {
      return std::make_unique<sim::ServerHost>(
          *zmq_,
          protocol::ManualServerOptions{.commands = plan_.commands,
                                        .results = plan_.results,
                                        .key = plan_.key,
                                        .connect_timeout_ms = plan_.connect_timeout_ms},
          "replay");
    } catch (const sim::UsageError& error) {
      // The server ticks by itself. Adds to the error how to start a server for this trace.
      throw sim::UsageError(std::string(error.what()) + "; " + serve_command(trace_space));
    }
  }

  SpaceOptions agree_on_space(Space trace_space) {
    if (plan_.commands.empty()) return {trace_space, plan_.resolution_m, plan_.origin};
    std::unique_ptr<sim::ServerHost> server = connect(trace_space);
    const SpaceOptions space = server->space();
    if (space.space != trace_space)
      throw sim::UsageError("--connect: the server's space is " +
                            std::string(to_string(space.space)) + ", the trace's " +
                            std::string(to_string(trace_space)) + "; " +
                            serve_command(trace_space));
    server_ = server.get();
    host_ = std::move(server);
    return space;
  }

  void read_rows(const sim::Trace& trace, const Lattice& lattice) {
    ProgressLine progress(plan_.progress_fd);
    sim::RowSorter sorter(plan_.sort);
    trace.read(lattice, object_names_, summary_.counts, [&](const sim::TraceRow& row) {
      sorter.add(row);
      forecast_.add(row);
      if (sorter.row_count() % 4096 == 0) progress.show("reading", sorter.row_count(), 0);
    });
    if (sorter.row_count() == 0)
      throw sim::InputError("there is nothing to replay; " + describe_left_out(summary_.counts));
    rows_ = sorter.finish();
    summary_.objects = forecast_.objects();
  }

  std::vector<protocol::QuerySpec> queries(const Lattice& lattice) {
    protocol::QuerySpec common;
    common.k = plan_.k;
    common.age_max_us = plan_.age_max_us;
    common.distance_max_m = plan_.distance_max_m;
    common.tags = plan_.tags;
    common.anchor = AnchorKind::every_object;
    if (plan_.query_file.empty()) return {common};
    return sim::read_query_file(plan_.query_file, common, lattice, query_names_, object_names_);
  }

  /// Notes the followed objects that no row of the trace has.
  void note_never_seen(std::span<const protocol::QuerySpec> queries) {
    sim::NameTable::NumberText query_number;
    sim::NameTable::NumberText object_number;
    for (const protocol::QuerySpec& query : queries) {
      if (query.anchor != AnchorKind::follow || forecast_.has(query.object)) continue;
      summary_.never_seen.push_back(
          {std::string(query_names_.text_of(to_number(query.id), query_number)),
           std::string(object_names_.text_of(to_number(query.object), object_number))});
    }
  }

  void start_host(const SpaceOptions& space, std::vector<protocol::QuerySpec> queries) {
    if (server_ != nullptr) {
      server_->put_names(object_names_, "objects' names");
      server_->put_names(query_names_, "queries' names");
    } else {
      ProcessorOptions options;
      options.space = space;
      options.objects.object_ttl_us = plan_.object_ttl_us;
      host_ = make_embedded_host(plan_.engine, options);
    }
    summary_.answerer = host_->describe();
    held_before_ =
        sim::start_replay(*host_, {plan_.stream, plan_.on, std::move(queries)}, !plan_.out.empty());
  }

  void run_clock() {
    const bool writes = !plan_.out.empty();
    // Opened before the clock starts, because opening a pipe waits for the reader.
    std::optional<sim::ResultCsv> csv;
    if (writes)
      csv.emplace(plan_.out, query_names_, object_names_, columns(),
                  sim::TextOutput::Appears::when_closed);
    ProgressLine progress(plan_.progress_fd);
    protocol::ListStore lists;
    if (!plan_.changes_only) lists = std::move(held_before_);
    const auto on_tick = [&](const sim::FinishedTick& tick, const sim::ReplayProgress& at) {
      progress.show("replaying", at.ticks_done, forecast_.ticks(), "ticks");
      if (at.is_idle && !plan_.every_tick && !plan_.changes_only) {
        ++summary_.idle_ticks;
        return;
      }
      if (csv && server_ != nullptr) server_->learn_names(lists, object_names_);
      if (plan_.columns.positions) add_positions(lists);
      if (csv && plan_.changes_only)
        csv->write_changes(tick.tick, tick.tau_us, lists, removed_);
      else if (csv)
        csv->write_tick(tick.tick, tick.tau_us, lists);
      if (!plan_.changes_only) return;
      lists.clear();
      removed_.clear();
    };
    const auto start = Clock::now();
    summary_.result = sim::replay(*rows_, options(), *host_, writes ? &lists : nullptr, on_tick);
    stopping_.reset();  // no signal ends the program from here on: the file is complete
    if (csv) csv->close();
    summary_.elapsed_s = std::chrono::duration<double>(Clock::now() - start).count();
  }

  sim::ResultCsvColumns columns() const {
    sim::ResultCsvColumns columns = plan_.columns;
    columns.space = host_->space().space;
    return columns;
  }

  sim::ReplayOptions options() {
    sim::ReplayOptions options{.tick_us = plan_.tick_us, .wait = pacing()};
    if (plan_.changes_only) options.removed = &removed_;
    if (plan_.columns.positions)
      options.on_rows = [this](std::span<const sim::TraceRow> rows) {
        for (const sim::TraceRow& row : rows) positions_[row.id] = row.position;
      };
    return options;
  }

  /// Sets the positions of all neighbours to those in the trace at this tick.
  void add_positions(protocol::ListStore& lists) const {
    for (auto& [key, list] : lists) {
      list.states.resize(list.neighbors.size());
      for (std::size_t i = 0; i < list.states.size(); ++i)
        list.states[i].position = positions_.at(list.neighbors[i].object);
    }
  }

  std::function<void(std::int64_t)> pacing() const {
    if (!plan_.speed) return {};
    return [start = Clock::now(), speed = *plan_.speed](std::int64_t since_first_us) {
      std::this_thread::sleep_until(due_at(start, since_first_us, speed));
    };
  }

  const ReplayPlan& plan_;
  std::optional<StopSignals> stop_;  ///< set if --out is a file; made before any thread
  std::optional<EndAtSignal> stopping_;
  ReplaySummary summary_;
  sim::Forecast forecast_;
  std::unique_ptr<sim::RowStream> rows_;
  sim::NameTable object_names_;
  sim::NameTable query_names_;
  /// Position of each object's newest row, for --with position.
  std::unordered_map<ObjectId, Position> positions_;
  std::optional<zmq::context_t> zmq_;
  std::unique_ptr<sim::LockStepHost> host_;
  sim::ServerHost* server_ = nullptr;       ///< the same as host_ if there is a server, else null
  protocol::ListStore held_before_;         ///< the queries' lists before the first row
  std::vector<protocol::ListKey> removed_;  ///< lists that the last tick removed
};

}  // namespace

ReplaySummary run_replay(const ReplayPlan& plan) {
  return Replay(plan).run();
}

}  // namespace starling::apps
