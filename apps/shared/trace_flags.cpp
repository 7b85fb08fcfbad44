// SPDX-License-Identifier: Apache-2.0
// Converts the trace flags into options, or throws a sentence that names the wrong flag: see
// trace_flags.hpp.
#include "starling/apps/shared/trace_flags.hpp"

#include <cstdio>
#include <optional>
#include <span>
#include <string_view>

#include <CLI/CLI.hpp>

#include "starling/knn/base/plain_text.hpp"
#include "starling/knn/base/time_text.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/quoted_text.hpp"
#include "starling/sim/data/files/text_append.hpp"
#include "starling/sim/data/traces/layout.hpp"

namespace starling::apps {
namespace {

std::string format_help() {
  std::string text =
      "The layout of the files. auto recognises it and prints what it recognised; the others are ";
  for (const sim::Layout& layout : sim::layouts())
    text += std::string(layout.name) + (layout.name == sim::layouts().back().name ? "" : ", ");
  return text;
}

constexpr std::size_t rows_explained = 3;

void print_line(const char* what, const std::string& text) {
  if (!text.empty()) std::printf("  %-18s %s\n", what, plain_text(text).c_str());
}

std::string listed(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

std::string separator_text(std::optional<char> separator) {
  if (!separator) return {};
  if (*separator == '\t') return "tab";
  return *separator == ' ' ? "blanks" : std::string(1, *separator);
}

std::string column_text(const sim::Columns& columns, const std::string& name) {
  if (name.empty() || name == sim::file_name_column) return name.empty() ? "" : "the file's name";
  return (columns.by_number ? "column " : "") + sim::printable_text(name);
}

std::string unit_text(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::by_magnitude:
      return "seconds, milliseconds, microseconds or nanoseconds by their magnitude";
    case TimeUnit::seconds:
      return "seconds";
    case TimeUnit::milliseconds:
      return "milliseconds";
    case TimeUnit::microseconds:
      return "microseconds";
    case TimeUnit::nanoseconds:
      return "nanoseconds";
  }
  return {};
}

std::string order_text(DateOrder order) {
  if (order == DateOrder::unknown) return "year, month, day; others are skipped";
  return order == DateOrder::day_first ? "the day first" : "the month first";
}

void print_first_rows(const sim::Trace& trace, const sim::Trace::File& file) {
  sim::NameTable names;
  sim::TraceCounts counts;
  for (const sim::TraceRow& row :
       trace.first_rows(file, Lattice({.space = trace.space()}), names, counts, rows_explained)) {
    sim::NameTable::NumberText buffer;
    std::string text = sim::printable_text(names.text_of(to_number(row.id), buffer)) + " at " +
                       iso_time_text(row.time_us);
    for (const double coordinate : std::span(row.position).first(trace.has_z() ? 3 : 2)) {
      text += ", ";
      sim::append_number(text, coordinate);
    }
    if (row.has_tags) text += ", tags " + std::to_string(row.tags);
    print_line("row", text);
  }
  for (const std::string& first : counts.first_skipped) print_line("skipped", first);
}

}  // namespace

void add_trace_flags(CLI::App& command, TraceFlags& flags) {
  command
      .add_option("trace", flags.paths,
                  "Files and directories; the files may end in .gz or .zst; for -, the standard "
                  "input. All files together are one trace")
      ->required();
  command.add_option("--format", flags.trace.format, format_help())->capture_default_str();
  command.add_option(
      "--columns", flags.trace.columns,
      "The columns of a CSV file: id=,time=,lat=,lon=[,alt=] or id=,time=,x=,y=[,z=], and "
      "[,tags=]. Name a column by its header or, in a file without a header, by its number from 1. "
      "time=DATE+CLOCK names two columns, and id=@file takes the name of the file as the id");
  command
      .add_option("--space", flags.space,
                  "The space of the objects. Without this flag, the layout of the files decides")
      ->check(CLI::IsMember({"planar2", "planar3", "wgs84"}));
  command
      .add_option(
          "--time-unit", flags.time_unit,
          "The unit of times that are numbers. auto goes by the magnitude: below 1e11 they are "
          "seconds, below 1e14 milliseconds, below 1e17 microseconds, else nanoseconds [auto]")
      ->check(CLI::IsMember({"auto", "s", "ms", "us", "ns"}));
  command
      .add_option("--date-order", flags.date_order,
                  "The order of day and month in dates such as 31/12/2022. Without this flag, a "
                  "file in which a first number is above 12 has the day first, and such rows of "
                  "other files are skipped")
      ->check(CLI::IsMember({"day-first", "month-first"}));
  command
      .add_option("--utc-offset", flags.utc_offset,
                  "The offset of times that have no zone, such as +01:00")
      ->capture_default_str();
  command.add_flag("--altitude", flags.trace.altitude, "Use altitudes; skip rows that have none");
  command.add_flag("--persons", flags.trace.persons, "Read the persons of a SUMO file too");
  command.add_flag("--keep-null-island", flags.trace.keep_null_island,
                   "Keep rows whose latitude and longitude are both 0");
  command
      .add_option(
          "--max-speed-mps", flags.trace.max_speed_mps,
          "Skip a row if its object must have been faster than this since its last kept row, in "
          "metres per second and in a straight line. Times less than 1 s apart count as 1 s. Three "
          "such rows in succession that fit one another are kept, so a wrong first row costs two "
          "rows")
      ->check(CLI::PositiveNumber);
  command.add_flag("--strict", flags.trace.strict, "Stop at the first row that would be skipped");
  command.add_option("--from", flags.from,
                     "Leave out rows before this time: 2022-01-03T00:10:00Z, or a number in "
                     "--time-unit since 1970");
  command.add_option("--until", flags.until, "Leave out rows after this time");
  command
      .add_option("--order", flags.order, "Sort the rows by time, or keep the order of the file")
      ->check(CLI::IsMember({"time", "file"}))
      ->capture_default_str();
  command
      .add_option("--sort-memory", flags.sort.memory_bytes,
                  "Memory for sorting rows, such as 64MiB or 2GB. Rows that do not fit go to a "
                  "temporary file [256MiB]")
      ->transform(CLI::AsSizeValue(false));
  command.add_option("--temp-dir", flags.sort.temp_dir,
                     "The folder of that temporary file, which is unlinked at once [$TMPDIR, else "
                     "/tmp]");
}

void add_explain_flag(CLI::App& command, TraceFlags& flags) {
  command.add_flag("--explain", flags.explain,
                   "Print how each file is read and why, with its first three rows as they are "
                   "understood, and do nothing else");
}

void explain_trace(const sim::Trace& trace) {
  for (const std::string& note : trace.notes()) std::printf("%s\n", plain_text(note).c_str());
  for (const sim::Trace::File& file : trace.files()) {
    const sim::RowRules rules = trace.rules_of(file);
    std::printf("\n%s\n", plain_text(file.path).c_str());
    print_line("undone", listed(file.undone));
    print_line("separator", separator_text(file.habits.separator));
    print_line("id", column_text(file.columns, file.columns.id()));
    print_line("time", column_text(file.columns, file.columns.time()) +
                           (file.columns.clock.empty()
                                ? ""
                                : " and " + column_text(file.columns, file.columns.clock)));
    print_line("time zone", rules.time.utc_offset_us == 0 ? "UTC, where none is written"
                                                          : "--utc-offset, where none is written");
    print_line("numbers as times", unit_text(rules.time.unit));
    print_line("order of dates", order_text(rules.time.date_order));
    print_line(rules.geographic ? "longitude" : "x", column_text(file.columns, file.columns.x()));
    print_line(rules.geographic ? "latitude" : "y", column_text(file.columns, file.columns.y()));
    print_line(rules.geographic ? "altitude" : "z",
               rules.needs_z ? column_text(file.columns, file.columns.z()) : "not used");
    print_line("tags", column_text(file.columns, file.columns.tags()));
    print_line("decimal mark", rules.decimal_mark == sim::DecimalMark::comma ? "," : ".");
    print_first_rows(trace, file);
  }
}

TracePlan plan_trace(const TraceFlags& flags) {
  TracePlan plan{flags.paths, flags.trace, flags.sort, flags.explain};
  const auto offset_us = parse_utc_offset_us(flags.utc_offset);
  if (!offset_us) refuse_flag("--utc-offset", flags.utc_offset, "an offset such as +01:00 or Z");
  plan.trace.utc_offset_us = *offset_us;
  if (!flags.time_unit.empty()) plan.trace.time_unit = time_unit_from_string(flags.time_unit);
  plan.trace.date_order = date_order_from_string(flags.date_order).value_or(DateOrder::unknown);
  if (!flags.space.empty()) plan.trace.space = space_from_string(flags.space);
  if (!flags.from.empty()) plan.trace.from_us = trace_time_us("--from", flags.from, plan.trace);
  if (!flags.until.empty()) plan.trace.to_us = trace_time_us("--until", flags.until, plan.trace);
  plan.sort.order = flags.order == "time" ? sim::RowOrder::time : sim::RowOrder::file;
  return plan;
}

std::int64_t trace_time_us(const std::string& flag, const std::string& text,
                           const sim::TraceOptions& options) {
  const auto parsed_us = parse_time_us(text, {options.time_unit.value_or(TimeUnit::by_magnitude),
                                              options.utc_offset_us, options.date_order});
  if (!parsed_us)
    refuse_flag(flag, text, "a time, such as 2022-01-03T00:10:00Z or seconds since the epoch");
  return *parsed_us;
}

void refuse_flag(const std::string& flag, const std::string& text, const std::string& wanted) {
  throw sim::UsageError(flag + ": '" + text + "' is not " + wanted);
}

void print_notes(const char* command, const sim::Trace& trace) {
  for (const std::string& note : trace.notes())
    std::fprintf(stderr, "%s: %s\n", command, plain_text(note).c_str());
}

}  // namespace starling::apps
