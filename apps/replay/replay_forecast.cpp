// SPDX-License-Identifier: Apache-2.0
// Estimates the size of the output from the trace and the queries: see replay_forecast.hpp.
#include "starling/apps/replay/replay_forecast.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <string>

#include "starling/knn/base/time_text.hpp"
#include "starling/knn/tables/object_table.hpp"

namespace starling::apps {
namespace {

constexpr std::uint64_t few_ticks = 100;  // far rows that cause fewer ticks get no warning

/// Returns a whole number or, from a million on, two decimals and a unit: "12345" or "6.43
/// billion".
std::string rounded(double number) {
  struct Unit {
    double size;
    const char* name;
  };
  constexpr std::array<Unit, 3> units{{{1e12, " trillion"}, {1e9, " billion"}, {1e6, " million"}}};
  std::array<char, 64> text{};
  for (const Unit& unit : units) {
    if (number < unit.size) continue;
    std::snprintf(text.data(), text.size(), "%.2f%s", number / unit.size, unit.name);
    return text.data();
  }
  std::snprintf(text.data(), text.size(), "%.0f", number);
  return text.data();
}

/// Returns the number of rows that are written if every list is full. An empty list has one row.
double rows_at_most(const ReplayPlan& plan, const sim::Forecast& forecast,
                    std::span<const protocol::QuerySpec> queries) {
  const bool every_object = plan.query_file.empty();
  const auto objects = static_cast<double>(forecast.objects());
  // The list of an object, or of a query that follows an object, does not have this object.
  double rows_a_tick = 0;
  for (const protocol::QuerySpec& query : queries)
    rows_a_tick += std::clamp(query.anchor == AnchorKind::fixed ? objects : objects - 1, 1.0,
                              static_cast<double>(query.k));
  // In a tick without rows, lists change only if rows become too old.
  const bool time_changes_lists = plan.object_ttl_us != ObjectTableOptions::never_us ||
                                  std::ranges::any_of(queries, [](const auto& query) {
                                    return query.age_max_us != Filter::any_age;
                                  });
  const auto written_ticks = static_cast<double>(
      plan.every_tick || time_changes_lists ? forecast.ticks() : forecast.ticks_with_rows_max());
  if (!every_object) return rows_a_tick * written_ticks;
  return rows_a_tick *
         std::min(static_cast<double>(forecast.lists_of_objects()), objects * written_ticks);
}

void warn_of_far_rows(const sim::FarRows& far, const sim::Forecast& forecast) {
  if (far.ticks < few_ticks) return;
  std::fprintf(stderr,
               "replay: warning: %" PRIu64 " of the %" PRIu64
               " rows, from %s to %s, are stamped far %s the others and make %" PRIu64
               " of the %" PRIu64 " ticks; %s %s leaves them out\n",
               far.rows, forecast.rows(), iso_time_text(far.oldest_us).c_str(),
               iso_time_text(far.newest_us).c_str(), far.is_after ? "after" : "before", far.ticks,
               forecast.ticks(), far.is_after ? "--until" : "--from",
               iso_time_text(far.others_end_us).c_str());
}

}  // namespace

void print_forecast(const ReplayPlan& plan, const sim::Forecast& forecast,
                    std::span<const protocol::QuerySpec> queries) {
  const std::size_t lists = plan.query_file.empty() ? forecast.objects() : queries.size();
  std::string sentence = "replay: " + rounded(static_cast<double>(forecast.ticks())) +
                         " ticks from " + iso_time_text(forecast.start_us()) + " to " +
                         iso_time_text(forecast.end_us()) + ", at most " + std::to_string(lists) +
                         " lists a tick";
  if (!plan.out.empty())
    sentence += ", at most " + rounded(rows_at_most(plan, forecast, queries)) + " rows to write";
  std::fprintf(stderr, "%s\n", sentence.c_str());
  for (const sim::FarRows& far : forecast.far_rows()) warn_of_far_rows(far, forecast);
}

}  // namespace starling::apps
