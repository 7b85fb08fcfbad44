// SPDX-License-Identifier: Apache-2.0
// Reads a trace, sorts it if the output format needs sorted rows, and writes it: see convert.hpp.
#include "starling/apps/convert.hpp"

#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <CLI/CLI.hpp>

#include "starling/apps/shared/own_input.hpp"
#include "starling/apps/shared/progress_line.hpp"
#include "starling/apps/shared/trace_flags.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/quoted_text.hpp"
#include "starling/sim/data/traces/trace_writer.hpp"

namespace starling::apps {
namespace {

struct ConvertFlags : TraceFlags {
  std::string to;
  std::string at;
  std::string out;
};

/// Keeps each object's newest row. Among rows of equal time, the one that is added last wins, as in
/// the engine.
class NewestRows {
 public:
  void add(const sim::TraceRow& row) {
    const auto [place, is_new] = places_.try_emplace(row.id, rows_.size());
    if (is_new) return rows_.push_back(row);
    sim::TraceRow& newest = rows_[place->second];
    if (row.time_us >= newest.time_us) newest = row;
  }

  /// Returns one row for each object, in the order in which the objects were first added.
  std::span<const sim::TraceRow> rows() const { return rows_; }

 private:
  std::unordered_map<ObjectId, std::size_t> places_;
  std::vector<sim::TraceRow> rows_;
};

class Conversion {
 public:
  /// `newest_only`: writes each object's newest row instead of all rows.
  Conversion(TracePlan plan, sim::TraceFormat format, const std::string& out, bool newest_only)
      : plan_(std::move(plan)),
        format_(format),
        out_(out),
        newest_only_(newest_only),
        trace_(plan_.paths, plan_.trace),
        lattice_({.space = trace_.space()}) {
    plan_.sort.order = sim::order_needed(format).value_or(plan_.sort.order);
    if (sim::needs_wgs84(format) && trace_.space() != Space::wgs84)
      throw sim::UsageError(
          "--to: geojson and gpx hold latitudes and longitudes, but the trace is of space " +
          std::string(to_string(trace_.space())) + "; csv and sumo hold metres");
  }

  void run() {
    if (plan_.explain) return explain_trace(trace_);
    print_notes("convert", trace_);
    refuse_own_input({"--out", out_, "conversion"}, trace_.paths());
    sim::TextOutput output(out_, sim::TextOutput::Appears::when_closed);
    const sim::TraceShape shape{trace_.space() == Space::wgs84, trace_.has_z(), trace_.has_tags()};
    writer_ = sim::make_trace_writer(format_, shape, names_, output);
    if (plan_.sort.order == sim::RowOrder::file) {
      take_rows([&](const sim::TraceRow& row) { write(row); });
    } else {
      sim::RowSorter sorter(plan_.sort);
      take_rows([&](const sim::TraceRow& row) { sorter.add(row); });
      const std::unique_ptr<sim::RowStream> rows = sorter.finish();
      for (auto block = rows->next_block(); !block.empty(); block = rows->next_block())
        for (const sim::TraceRow& row : block) write(row);
    }
    progress_.clear();
    if (rows_written_ == 0)
      throw sim::InputError("there is nothing to convert" +
                            std::string(newest_only_ ? " at the time of --at; " : "; ") +
                            describe_left_out(counts_));
    writer_->close();
    std::fprintf(stderr, "convert: %llu rows written; skipped %s%s\n",
                 static_cast<unsigned long long>(rows_written_), describe_skipped(counts_).c_str(),
                 skipped_hint(counts_));
    print_first_skipped("convert", counts_);
    if (const std::string& id = writer_->first_changed_id(); !id.empty())
      std::fprintf(stderr,
                   "convert: warning: XML cannot hold some characters of ids, such as %s; they are "
                   "written as U+FFFD. csv and geojson hold them\n",
                   sim::quoted_text(id).c_str());
  }

 private:
  /// Passes the rows that are to be written to `handler`.
  void take_rows(const sim::Trace::RowHandler& handler) {
    if (!newest_only_) return read(handler);
    NewestRows newest;
    read([&](const sim::TraceRow& row) { newest.add(row); });
    for (const sim::TraceRow& row : newest.rows()) handler(row);
  }

  void read(const sim::Trace::RowHandler& handler) {
    trace_.read(lattice_, names_, counts_, [&](const sim::TraceRow& row) {
      if (counts_.rows % 4096 == 0) progress_.show("reading", counts_.rows, 0);
      handler(row);
    });
  }

  void write(const sim::TraceRow& row) {
    writer_->write(row);
    if (++rows_written_ % 4096 == 0) progress_.show("writing", rows_written_, 0);
  }

  TracePlan plan_;
  const sim::TraceFormat format_;
  const std::string& out_;
  const bool newest_only_;
  const sim::Trace trace_;
  const Lattice lattice_;
  sim::NameTable names_;
  sim::TraceCounts counts_;
  std::unique_ptr<sim::TraceWriter> writer_;
  std::uint64_t rows_written_ = 0;
  ProgressLine progress_;
};

TracePlan plan_of(const ConvertFlags& flags) {
  TracePlan plan = plan_trace(flags);
  plan.trace.keep_far = true;  // no engine takes the rows
  if (!flags.at.empty()) plan.trace.to_us = trace_time_us("--at", flags.at, plan.trace);
  return plan;
}

}  // namespace

std::function<int()> add_convert(CLI::App& program) {
  auto flags = std::make_shared<ConvertFlags>();
  flags->order = "file";
  CLI::App* const command =
      program.add_subcommand("convert", "Write a trace in another file format");
  add_trace_flags(*command, *flags);
  add_explain_flag(*command, *flags);
  command
      ->add_option(
          "--to", flags->to,
          "The output format. csv: Starling's own, id,time_us,x,y[,z][,tags] or "
          "id,time_us,lon,lat[,alt][,tags]; it keeps all data, and --format auto recognises it. "
          "sumo: FCD, sorted by time, without tags (to read degrees again: --space wgs84). "
          "geojson: one point per row. gpx: one track per object, without tags")
      ->check(CLI::IsMember({"csv", "sumo", "geojson", "gpx"}))
      ->required();
  command
      ->add_option(
          "--out", flags->out,
          "The file to write, compressed if its name ends in .gz or .zst; it appears when it is "
          "complete. - is the standard output")
      ->required();
  command->add_option("--at", flags->at,
                      "Write the state at this time instead of all rows: each object's newest row "
                      "at or before it");
  return [flags] {
    try {
      if (!flags->at.empty() && !flags->until.empty())
        throw sim::UsageError("--at takes the rows up to its time; leave out --until");
      Conversion(plan_of(*flags), *sim::trace_format_from_string(flags->to), flags->out,
                 !flags->at.empty())
          .run();
    } catch (const sim::UsageError& error) {
      throw CLI::ValidationError(error.what());
    }
    return 0;
  };
}

}  // namespace starling::apps
