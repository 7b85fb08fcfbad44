// SPDX-License-Identifier: Apache-2.0
// Checks that /metrics and GetStats show each row of the metric table, with the value that was read
// or counted for it, and compares the table of metrics in docs/operating.md with the metrics of a
// server.
#include "starling/stream/operation/metric_table.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/stream/operation/limit_table.hpp"
#include "starling/stream/operation/metrics.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using ::testing::HasSubstr;

bool is_counted(const MetricRow& metric) {
  return std::holds_alternative<MetricRow::Counted>(metric.source);
}

std::multiset<std::string> names_in(const std::string& text, const std::string& expression) {
  const std::regex pattern(expression, std::regex::multiline);
  std::multiset<std::string> names;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match)
    names.insert((*match)[1]);
  return names;
}

/// Returns values that all differ from each other and from 0.
Gauges distinct_gauges(double factor) {
  Gauges gauges;
  for (std::size_t index = 0; index < metric_table().size(); ++index)
    gauges.values.push_back(factor * static_cast<double>(index + 1));
  return gauges;
}

/// Returns the end of a line of /metrics.
std::string shown(const std::string& name, double value) {
  return name + " " + std::to_string(static_cast<std::uint64_t>(value)) + "\n";
}

TEST(MetricTable, EachNameIsThereOnceAndOnlyCountersEndInTotal) {
  std::set<std::string_view> names;
  for (const MetricRow& metric : metric_table()) {
    if (metric.name.empty()) continue;
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_TRUE(metric.name.starts_with("starling_")) << metric.name;
    EXPECT_EQ(metric.name.ends_with("_total"), metric.kind == MetricKind::counter) << metric.name;
    EXPECT_TRUE(metric.help.ends_with('.')) << metric.name;
  }
}

TEST(MetricTable, ARowWithoutANameIsTheUseOfALimitAndNoLimitHasTwoUses) {
  std::set<std::string_view> limits;
  for (const MetricRow& metric : metric_table()) {
    EXPECT_FALSE(metric.name.empty() && metric.limit.empty());
    if (metric.limit.empty()) continue;
    EXPECT_TRUE(limits.insert(metric.limit).second) << metric.limit;
    EXPECT_NE(std::ranges::find(limit_table(), metric.limit, &Limit::name), limit_table().end())
        << metric.limit;
    EXPECT_EQ(use_of(metric.limit), &metric) << metric.limit;
  }
  EXPECT_EQ(use_of("rows-max"), nullptr);
}

TEST(MetricTable, APageShowsTheValueOfEachRowAlsoWhenItChanges) {
  Metrics metrics{ServerOptions{}};
  for (const double factor : {1.0, 3.0}) {
    const Gauges gauges = distinct_gauges(factor);
    const std::string page = metrics.text(gauges);
    for (std::size_t index = 0; index < metric_table().size(); ++index) {
      const MetricRow& metric = metric_table()[index];
      if (is_counted(metric)) continue;
      const std::string name(metric.name);
      if (!name.empty()) {
        const std::string kind = metric.kind == MetricKind::counter ? "counter" : "gauge";
        EXPECT_THAT(page, HasSubstr("# HELP " + name + " "));
        EXPECT_THAT(page, HasSubstr("# TYPE " + name + " " + kind + "\n" +
                                    shown(name, gauges.values[index])));
      }
      if (!metric.limit.empty()) {
        const std::string use = "starling_limit_used{name=\"" + std::string(metric.limit) + "\"}";
        EXPECT_THAT(page, HasSubstr("\n" + shown(use, gauges.values[index])));
      }
    }
  }
}

TEST(MetricTable, WhatMetricsCountsIsShownInsteadOfWhatTheServerReads) {
  Metrics metrics{ServerOptions{}};
  const std::map<std::string_view, double> expected{{"starling_ticks_total", 1},
                                                    {"starling_ticks_failed_total", 2},
                                                    {"starling_tick_overruns_total", 3},
                                                    {"starling_subscriber_lost_ticks_total", 4},
                                                    {"starling_published_bytes_total", 500},
                                                    {"starling_replies_dropped_total", 2},
                                                    {"starling_session_guesses_refused_total", 2},
                                                    {"starling_log_lines_left_out_total", 2},
                                                    {"starling_decode_out_of_memory_total", 2},
                                                    {"starling_decode_seconds_total", 6},
                                                    {"starling_apply_seconds_total", 8},
                                                    {"starling_page_rows_total", 10},
                                                    {"starling_page_seconds_total", 12},
                                                    {"starling_loop_turn_longest_seconds", 7},
                                                    {"starling_http_timeouts_total", 2}};
  metrics.tick_finished({}, 0, 0);
  metrics.overrun(3);
  metrics.lost_by_subscribers(4);
  metrics.tick_published(0, 0, 500);
  for (const std::int64_t turn_s : {7, 5}) {
    metrics.tick_failed();
    metrics.reply_dropped();
    metrics.guess_refused();
    metrics.log_line_left_out();
    metrics.decode_out_of_memory();
    metrics.decoded(3000);
    metrics.applied(4000);
    metrics.page_read(5, 6000);
    metrics.loop_turn(turn_s * 1'000'000'000);
    metrics.http_timed_out();
  }
  std::map<std::string, double> samples;
  for (const Sample& sample : metrics.samples(distinct_gauges(1)))
    samples.emplace(sample.name, sample.value);
  for (const MetricRow& metric : metric_table()) {
    if (!is_counted(metric)) continue;
    ASSERT_TRUE(expected.contains(metric.name)) << metric.name;
    EXPECT_EQ(samples.at(std::string(metric.name)), expected.at(metric.name)) << metric.name;
  }
}

TEST(MetricTable, WithoutValuesOfAServerEachRowIsZero) {
  Metrics metrics{ServerOptions{}};
  const std::string page = metrics.text({});
  for (const MetricRow& metric : metric_table())
    if (!metric.name.empty()) {
      EXPECT_THAT(page, HasSubstr("\n" + shown(std::string(metric.name), 0)));
    }
}

TEST(MetricTable, TheOperatingPageHasEachMetricOfAServerOnceAndNoOther) {
  std::ifstream file(STARLING_SOURCE_DIR "/docs/operating.md");
  std::stringstream page;
  page << file.rdbuf();
  const RunningServer server(manual_options());
  const std::string metrics = http_get(server.endpoints().http, "/metrics");
  const auto served = names_in(metrics, "^# HELP (starling_[a-z_]+) ");
  EXPECT_GT(served.size(), 20u);
  EXPECT_EQ(names_in(page.str(), "^\\| `(starling_[a-z_]+)` \\|"), served);
}

}  // namespace
}  // namespace starling::stream
