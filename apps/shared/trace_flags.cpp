// Trace flags to options, or a sentence naming the flag: see trace_flags.hpp.
#include "apps/shared/trace_flags.hpp"

#include <cstdio>

#include <CLI/CLI.hpp>

#include "sim/files/time_text.hpp"
#include "sim/traces/layout.hpp"

namespace starling::apps {
namespace {

std::int64_t time_us(const std::string& flag, const std::string& text, const sim::TimeRules& rules,
                     std::int64_t when_absent_us) {
  if (text.empty()) return when_absent_us;
  const auto parsed_us = sim::parse_time_us(text, rules);
  if (!parsed_us)
    refuse_flag(flag, text, "a time, such as 2022-01-03T00:10:00Z or seconds since the epoch");
  return *parsed_us;
}

std::string format_help() {
  std::string text = "auto looks at the files and says what it saw; or ";
  for (const sim::Layout& layout : sim::layouts())
    text += std::string(layout.name) + (layout.name == sim::layouts().back().name ? "" : ", ");
  return text;
}

}  // namespace

void add_trace_flags(CLI::App& command, TraceFlags& flags, const std::string& until_flag) {
  command
      .add_option("trace", flags.paths,
                  "Files and directories, .gz and .zst too; together they are one trace")
      ->required();
  command.add_option("--format", flags.trace.format, format_help())->capture_default_str();
  command.add_option(
      "--columns", flags.trace.columns,
      "CSV: id=,time=,lat=,lon=[,alt=] or id=,time=,x=,y=[,z=], and [,tags=]; header "
      "names, or numbers from 1 where there is no header; id=@file is the file's name");
  command.add_option("--space", flags.space, "Where objects live (default: by the layout)")
      ->check(CLI::IsMember({"planar2", "planar3", "wgs84"}));
  command
      .add_option(
          "--time-unit", flags.time_unit,
          "Of times that are numbers (default: told by their magnitude; below 1e11 s, below "
          "1e14 ms, else us)")
      ->check(CLI::IsMember({"auto", "s", "ms", "us"}));
  command.add_option("--utc-offset", flags.utc_offset, "Of times without a zone, such as +01:00")
      ->capture_default_str();
  command.add_flag("--altitude", flags.trace.altitude, "Altitudes count; rows without are skipped");
  command.add_flag("--persons", flags.trace.persons, "SUMO: persons too");
  command.add_flag("--keep-null-island", flags.trace.keep_null_island,
                   "Keep rows at latitude and longitude 0");
  command
      .add_option("--max-speed-mps", flags.trace.max_speed_mps,
                  "Skip rows that their object could only have reached faster from its last kept "
                  "row, in a straight line, in metres a second; three such rows in succession "
                  "that agree with one another are believed, so that a wrong first fix costs two "
                  "rows (times less than 1 s apart count as 1 s)")
      ->check(CLI::PositiveNumber);
  command.add_flag("--strict", flags.trace.strict, "Stop at the first row that would be skipped");
  command.add_option("--from", flags.from, "Leave earlier rows out");
  command.add_option(until_flag, flags.until, "Leave later rows out");
  command.add_option("--order", flags.order, "Event time, or the file's order")
      ->check(CLI::IsMember({"time", "file"}))
      ->capture_default_str();
  command
      .add_option("--sort-memory", flags.sort.memory_bytes,
                  "For rows while they are sorted, such as 64MiB or 2GB; what doesn't fit waits in "
                  "a temporary file (default: 256MiB)")
      ->transform(CLI::AsSizeValue(false));
  command.add_option("--temp-dir", flags.sort.temp_dir,
                     "Where that file is made, and unlinked at once (default: $TMPDIR, or /tmp)");
}

TracePlan plan_trace(const TraceFlags& flags) {
  TracePlan plan{flags.paths, flags.trace, flags.sort};
  const auto offset_us = sim::parse_utc_offset_us(flags.utc_offset);
  if (!offset_us) refuse_flag("--utc-offset", flags.utc_offset, "an offset such as +01:00 or Z");
  plan.trace.utc_offset_us = *offset_us;
  if (!flags.time_unit.empty()) plan.trace.time_unit = sim::time_unit_from_string(flags.time_unit);
  if (!flags.space.empty()) plan.trace.space = space_from_string(flags.space);
  const sim::TimeRules time_rules{plan.trace.time_unit.value_or(sim::TimeUnit::by_magnitude),
                                  plan.trace.utc_offset_us};
  plan.trace.from_us = time_us("--from", flags.from, time_rules, plan.trace.from_us);
  plan.trace.to_us = time_us("--until", flags.until, time_rules, plan.trace.to_us);
  plan.sort.order = flags.order == "time" ? sim::RowOrder::time : sim::RowOrder::file;
  return plan;
}

void refuse_flag(const std::string& flag, const std::string& text, const std::string& wanted) {
  throw sim::UsageError(flag + ": '" + text + "' is not " + wanted);
}

void print_notes(const char* command, const sim::Trace& trace) {
  for (const std::string& note : trace.notes())
    std::fprintf(stderr, "%s: %s\n", command, note.c_str());
}

}  // namespace starling::apps
