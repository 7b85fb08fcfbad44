// SPDX-License-Identifier: Apache-2.0
// Reads and sorts the trace for each pass: see played_trace.hpp.
#include "starling/apps/view/played_trace.hpp"

#include <algorithm>
#include <limits>

#include "starling/apps/shared/progress_line.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/replay/replay.hpp"

namespace starling::apps {
namespace {

class PlayedTrace : public PlayedSource {
 public:
  explicit PlayedTrace(const ViewPlan& plan) : plan_(plan), trace_(plan.paths, plan.trace) {
    print_notes("view", trace_);
    space_.space = trace_.space();
  }

  void set_up(stream::ServerOptions& options) const override {
    options.processor.space = space_;
    options.processor.objects.object_ttl_us = plan_.object_ttl_us;
  }

  Span begin_pass() override {
    rows_.reset();  // frees the memory and the file of the pass before
    ProgressLine progress;
    sim::RowSorter sorter(plan_.sort);
    sim::TraceCounts counts;
    std::int64_t oldest_us = std::numeric_limits<std::int64_t>::max();
    names_ = {};
    trace_.read(Lattice(space_), names_, counts, [&](const sim::TraceRow& row) {
      sorter.add(row);
      oldest_us = std::min(oldest_us, row.time_us);
      if (sorter.row_count() % 4096 == 0) progress.show("reading", sorter.row_count(), 0);
    });
    if (sorter.row_count() == 0)
      throw sim::InputError("there is nothing to view; " + describe_left_out(counts));
    rows_ = sorter.finish();
    return {sim::first_tick_us(oldest_us, plan_.tick_us),
            sim::first_tick_us(rows_->newest_us(), plan_.tick_us)};
  }

  void play(sim::ServerHost& host, Playback& clock) override {
    host.put_names(names_, "objects' names");
    sim::ReplayOptions options;
    options.tick_us = plan_.tick_us;
    options.wait = [&](std::int64_t since_first_us) { wait_for(clock, since_first_us); };
    sim::replay(*rows_, options, host, nullptr, {});
  }

 private:
  const ViewPlan& plan_;
  const sim::Trace trace_;
  SpaceOptions space_;
  sim::NameTable names_;
  std::unique_ptr<sim::RowStream> rows_;
};

}  // namespace

std::unique_ptr<PlayedSource> make_played_trace(const ViewPlan& plan) {
  return std::make_unique<PlayedTrace>(plan);
}

}  // namespace starling::apps
