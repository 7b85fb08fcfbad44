// SPDX-License-Identifier: Apache-2.0
// Reads the metrics by name and label: see server_view.hpp.
#include "starling/apps/top/server_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>

namespace starling::apps {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::array<std::string_view, 9> stage_names{
    "copy_in", "build", "search", "diff", "copy_out", "report", "encode", "publish", "total"};

class Samples {
 public:
  explicit Samples(const protocol::StatValues& values) : values_(values.begin(), values.end()) {}

  double of(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? 0 : found->second;
  }
  double of(const std::string& metric, std::string_view label, std::string_view value) const {
    return of(metric + "{" + std::string(label) + "=\"" + std::string(value) + "\"}");
  }

  /// Returns the values that the label has in this metric.
  std::vector<std::string> labels(const std::string& metric, std::string_view label) const {
    std::vector<std::string> found;
    const std::string prefix = metric + "{" + std::string(label) + "=\"";
    for (const auto& [name, value] : values_)
      if (name.starts_with(prefix) && name.ends_with("\"}"))
        found.push_back(name.substr(prefix.size(), name.size() - prefix.size() - 2));
    return found;
  }

 private:
  std::unordered_map<std::string, double> values_;
};

/// Two samples of a server and the time between them.
struct Window {
  const Samples& before;
  const Samples& now;
  double interval_s;

  Counted counted(const std::string& name, double total, double total_before) const {
    return {name, total, interval_s > 0 ? (total - total_before) / interval_s : unknown};
  }
  Counted counted(const std::string& name, const std::string& metric) const {
    return counted(name, now.of(metric), before.of(metric));
  }
  Counted counted(const std::string& metric, std::string_view label,
                  const std::string& value) const {
    return counted(value, now.of(metric, label, value), before.of(metric, label, value));
  }
  double mean_ms(std::string_view stage) const {
    const std::string metric = "starling_tick_stage_seconds";
    const auto grown = [&](const std::string& name) {
      return now.of(name, "stage", stage) - before.of(name, "stage", stage);
    };
    const double count = grown(metric + "_count");
    return interval_s > 0 && count > 0 ? 1000 * grown(metric + "_sum") / count : unknown;
  }
};

std::vector<Counted> occurred(const Window& window, const std::string& metric,
                              std::string_view label) {
  std::vector<Counted> found;
  for (const std::string& value : window.now.labels(metric, label)) {
    if (metric == "starling_rows_total" && (value == "accepted" || value == "late")) continue;
    Counted each = window.counted(metric, label, value);
    if (each.total > 0) found.push_back(std::move(each));
  }
  std::ranges::sort(found, [](const Counted& left, const Counted& right) {
    return left.total != right.total ? left.total > right.total : left.name < right.name;
  });
  return found;
}

std::vector<Level> levels_of(const Samples& now) {
  std::vector<Level> levels;
  for (const std::string& name : now.labels("starling_limit_used", "name")) {
    const Level level{name, now.of("starling_limit_used", "name", name),
                      now.of("starling_limit", "name", name)};
    if (level.limit > 0) levels.push_back(level);
  }
  std::ranges::sort(levels, [](const Level& left, const Level& right) {
    return left.ratio() != right.ratio() ? left.ratio() > right.ratio() : left.name < right.name;
  });
  return levels;
}

}  // namespace

ServerView view_of(const protocol::StatValues& before, const protocol::StatValues& now,
                   double interval_s) {
  const Samples old(before);
  const Samples samples(now);
  ServerView view;
  view.interval_s = interval_s;
  view.is_restarted = samples.of("starling_ticks_total") < old.of("starling_ticks_total");
  const Window window{old, samples, view.is_restarted ? 0 : interval_s};
  view.objects = samples.of("starling_objects");
  view.queries = samples.of("starling_queries");
  view.streams = samples.of("starling_streams");
  view.sessions = samples.of("starling_sessions");
  view.subscriptions = samples.of("starling_subscriptions");
  view.log_full_s = samples.of("starling_journal_full_seconds");
  view.log_free_bytes = samples.of("starling_journal_free_bytes");
  view.ticks = window.counted("ticks", "starling_ticks_total");
  view.skipped = window.counted("skipped", "starling_tick_overruns_total");
  view.failed = window.counted("failed", "starling_ticks_failed_total");
  for (const std::string_view stage : stage_names)
    view.stages.push_back({std::string(stage), window.mean_ms(stage)});
  view.accepted = window.counted("starling_rows_total", "outcome", "accepted");
  view.late = window.counted("starling_rows_total", "outcome", "late");
  view.reasons = occurred(window, "starling_rows_total", "outcome");
  view.rejected = {"rejected", 0, window.interval_s > 0 ? 0 : unknown};
  for (const Counted& reason : view.reasons) {
    view.rejected.total += reason.total;
    view.rejected.per_s += reason.per_s;
  }
  view.refused = occurred(window, "starling_refused_requests_total", "code");
  view.published_bytes = window.counted("published_bytes", "starling_published_bytes_total");
  view.lost_ticks = window.counted("lost_ticks", "starling_subscriber_lost_ticks_total");
  view.replies_dropped = window.counted("replies_dropped", "starling_replies_dropped_total");
  view.connections_refused =
      window.counted("connections_refused", "starling_connections_refused_total");
  view.levels = levels_of(samples);
  return view;
}

}  // namespace starling::apps
