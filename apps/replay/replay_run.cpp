// The parts of a replay, wired: see replay_run.hpp.
#include "apps/replay/replay_run.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include <zmq.hpp>

#include "apps/shared/own_input.hpp"
#include "sim/files/text_output.hpp"
#include "sim/replay/embedded_target.hpp"
#include "sim/replay/query_file.hpp"
#include "sim/replay/result_csv.hpp"
#include "sim/replay/server_target.hpp"

namespace starling::apps {
namespace {

using Clock = std::chrono::steady_clock;

class Replay {
 public:
  explicit Replay(const ReplayPlan& plan) : plan_(plan) {}

  ReplaySummary run() {
    const sim::Trace trace(plan_.paths, plan_.trace);
    print_notes("replay", trace);
    check_output(trace);
    summary_.source = describe(trace);
    const SpaceOptions space = agree_on_space(trace.space());
    const Lattice lattice(space);
    read_rows(trace, lattice);
    start_target(space, queries(lattice));
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

  // Before the time for the replay is spent; an old file stays until there is a new one.
  void check_output(const sim::Trace& trace) const {
    if (plan_.out.empty()) return;
    std::vector<std::string> inputs = trace.paths();
    inputs.push_back(plan_.query_file);
    refuse_own_input({"--out", plan_.out, "replay"}, inputs);
    sim::TextOutput::check(plan_.out);
  }

  SpaceOptions agree_on_space(Space trace_space) {
    if (plan_.commands.empty()) return {trace_space, plan_.resolution_m, plan_.origin};
    zmq_.emplace();
    auto server = std::make_unique<sim::ServerTarget>(
        *zmq_,
        sim::ManualServerOptions{.commands = plan_.commands,
                                 .results = plan_.results,
                                 .connect_timeout_ms = plan_.connect_timeout_ms},
        plan_.out.empty() ? sim::ServerTarget::Lists::unwanted : sim::ServerTarget::Lists::wanted);
    const SpaceOptions space = server->space();
    if (space.space != trace_space)
      throw sim::UsageError("--connect: the server's space is " +
                            std::string(to_string(space.space)) + ", the trace's " +
                            std::string(to_string(trace_space)));
    server_ = server.get();
    target_ = std::move(server);
    return space;
  }

  void read_rows(const sim::Trace& trace, const Lattice& lattice) {
    ProgressLine progress;
    sim::RowSorter sorter(plan_.sort);
    std::unordered_set<ObjectId> ids;
    trace.read(lattice, object_names_, summary_.counts, [&](const sim::TraceRow& row) {
      sorter.add(row);
      ids.insert(row.id);
      if (sorter.row_count() % 4096 == 0) progress.show("reading", sorter.row_count(), 0);
    });
    if (sorter.row_count() == 0)
      throw sim::TraceError("there is nothing to replay: of the rows, " +
                            describe_skipped(summary_.counts) + " were skipped and " +
                            std::to_string(summary_.counts.outside) +
                            " are outside --from and --to");
    rows_ = sorter.finish();
    summary_.objects = ids.size();
  }

  std::vector<protocol::QuerySpec> queries(const Lattice& lattice) {
    protocol::QuerySpec common;
    common.k = plan_.k;
    common.age_max_us = plan_.age_max_us;
    common.anchor = AnchorKind::every_object;
    if (plan_.query_file.empty()) return {common};
    return sim::read_query_file(plan_.query_file, common, lattice, query_names_, object_names_);
  }

  void start_target(const SpaceOptions& space, std::vector<protocol::QuerySpec> queries) {
    const sim::ReplaySetup setup{plan_.stream, plan_.on, std::move(queries)};
    if (server_ != nullptr) {
      server_->start(setup, object_names_, query_names_);
      summary_.answerer = "the server at " + plan_.commands;
      return;
    }
    ProcessorOptions options;
    options.space = space;
    options.objects.object_ttl_us = plan_.object_ttl_us;
    const EngineChoice choice = choose_engine(plan_.engine);
    std::unique_ptr<Engine> engine = choice.make(space);
    options.queries.neighbors_max = engine->limits().neighbors_max;  // nobody else's memory
    summary_.answerer = "the embedded engine " + choice.name + " (" + choice.why + ")";
    target_ = std::make_unique<sim::EmbeddedTarget>(options, std::move(engine), setup);
  }

  void run_clock() {
    const bool writes = !plan_.out.empty();
    std::optional<sim::ResultCsv> csv;
    const auto open_csv = [&] {
      if (writes && !csv) csv.emplace(plan_.out, query_names_, object_names_);
    };
    // Who reads a pipe is waited for before the clock runs; an old file stays until the first tick.
    if (!sim::TextOutput::is_ordinary(plan_.out)) open_csv();
    ProgressLine progress;
    protocol::ListStore lists;
    if (server_ != nullptr && writes && !plan_.changes_only) lists = server_->held_before();
    const auto on_tick = [&](const sim::FinishedTick& tick, std::uint64_t rows_done) {
      open_csv();
      if (csv && server_ != nullptr) server_->learn_names(lists, object_names_);
      if (csv) csv->write_tick(tick.tick, tick.tau_us, lists);
      if (plan_.changes_only) lists.clear();
      progress.show("replaying", rows_done, rows_->row_count());
    };
    const auto start = Clock::now();
    summary_.result = sim::replay(*rows_, {plan_.tick_us, pacing()}, *target_,
                                  writes ? &lists : nullptr, on_tick);
    open_csv();
    if (csv) csv->close();
    summary_.elapsed_s = std::chrono::duration<double>(Clock::now() - start).count();
  }

  std::function<void(std::int64_t)> pacing() const {
    if (!plan_.speed) return {};
    return [start = Clock::now(), speed = *plan_.speed](std::int64_t since_first_us) {
      const std::chrono::duration<double, std::micro> due(static_cast<double>(since_first_us) /
                                                          speed);
      std::this_thread::sleep_until(start + std::chrono::duration_cast<Clock::duration>(due));
    };
  }

  const ReplayPlan& plan_;
  ReplaySummary summary_;
  std::unique_ptr<sim::RowStream> rows_;
  sim::NameTable object_names_;
  sim::NameTable query_names_;
  std::optional<zmq::context_t> zmq_;
  std::unique_ptr<sim::ReplayTarget> target_;
  sim::ServerTarget* server_ = nullptr;  ///< the target, if it is one
};

}  // namespace

ReplaySummary run_replay(const ReplayPlan& plan) {
  return Replay(plan).run();
}

}  // namespace starling::apps
