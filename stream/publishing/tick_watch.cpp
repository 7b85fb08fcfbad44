// SPDX-License-Identifier: Apache-2.0
// Counts ticks, and writes about them: see tick_watch.hpp.
#include "starling/stream/publishing/tick_watch.hpp"

#include <spdlog/spdlog.h>

namespace starling::stream {

void TickWatch::due(const Due& due) {
  if (!due.is_log_full) {
    metrics_.overrun(due.skipped);
    overrun_log_.due(due.begins, due.skipped);
    if (due.is_stalled && due.missed > 0) overrun_log_.stalled(due.missed, due.late_us);
  }
  if (const auto sentence = overrun_log_.sentence(executor_.now_us()))
    spdlog::warn("{}", *sentence);
}

void TickWatch::finished(const TickReport& report, std::int64_t begun_us, std::int64_t arrived_us) {
  const double total_ms = executor_.ms_since(begun_us);
  metrics_.tick_finished(report.times, executor_.ms_since(arrived_us), total_ms);
  overrun_log_.finished(report.times, total_ms);
  if (!report.warning.empty()) spdlog::warn("tick {}: {}", to_number(report.tick), report.warning);
  last_error_.clear();
  if (!report.error.empty()) failed(report.tick, report.error);
}

void TickWatch::published(const TickTimeline& timeline, std::uint64_t bytes) {
  const auto encode_ms = static_cast<double>(timeline.encoded_us - timeline.encode_us) / 1e3;
  const auto publish_ms = static_cast<double>(timeline.sent_us - timeline.sorted_us) / 1e3;
  metrics_.tick_published(encode_ms, publish_ms, bytes);
  overrun_log_.encoded(encode_ms);
  if (trace_ != nullptr) trace_->tick(timeline);
}

void TickWatch::failed(Tick tick, const std::string& error) {
  last_error_ = error;
  metrics_.tick_failed();
  spdlog::error("tick {} failed: {}", to_number(tick), error);
}

}  // namespace starling::stream
