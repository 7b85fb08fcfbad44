// SPDX-License-Identifier: Apache-2.0
// Remembers the slowest tick and its slowest stage: see overrun_log.hpp.
#include "starling/stream/state/overrun_log.hpp"

#include <algorithm>
#include <initializer_list>

#include <spdlog/fmt/fmt.h>

namespace starling::stream {
namespace {

constexpr std::int64_t interval_us = 10'000'000;

}  // namespace

void OverrunLog::finished(const StageTimes& times, double total_ms) {
  const std::initializer_list<Stage> stages{{"copying in", times.copy_in_ms},
                                            {"building the index", times.build_ms},
                                            {"searching", times.search_ms},
                                            {"comparing the lists", times.diff_ms},
                                            {"copying out", times.copy_out_ms}};
  double rest_ms = total_ms;
  for (const Stage& stage : stages) rest_ms -= stage.ms;
  const Stage slowest = std::ranges::max(stages, {}, &Stage::ms);
  keep_slowest(total_ms, rest_ms > slowest.ms ? Stage{waiting_for_loop, rest_ms} : slowest);
}

void OverrunLog::encoded(double ms) {
  keep_slowest(ms, {"encoding the messages", ms});
}

void OverrunLog::keep_slowest(double total_ms, const Stage& stage) {
  if (total_ms <= slowest_ms_) return;
  slowest_ms_ = total_ms;
  slowest_stage_ = stage;
}

std::optional<std::string> OverrunLog::sentence(std::int64_t now_us) {
  if (skipped_ == 0 || (logged_us_ && now_us - *logged_us_ < interval_us)) return std::nullopt;
  const double period_ms = static_cast<double>(period_us_) / 1e3;
  std::string text =
      2 * stalled_ >= skipped_ ? stall_sentence(period_ms) : load_sentence(period_ms);
  *this = OverrunLog(period_us_);
  logged_us_ = now_us;
  return text;
}

std::string OverrunLog::stall_sentence(double period_ms) const {
  return fmt::format(
      "{} of {} ticks were skipped, because the system did not run the server when they were due, "
      "for up to {:.1f} ms. A tick is due every {} ms. Look for what takes the processors away: "
      "other programs, a limit of the container, the host of the virtual machine (steal time), or "
      "a "
      "suspend",
      skipped_, due_, static_cast<double>(late_us_) / 1e3, period_ms);
}

std::string OverrunLog::load_sentence(double period_ms) const {
  std::string text = fmt::format(
      "{} of {} ticks were skipped, because the server was busy when they were due. A tick is due "
      "every {} ms",
      skipped_, due_, period_ms);
  if (slowest_ms_ > 0)
    text += fmt::format("; the slowest one took {:.1f} ms, of which {} took {:.1f} ms", slowest_ms_,
                        slowest_stage_.name, slowest_stage_.ms);
  const bool is_quick = slowest_ms_ > 0 && slowest_ms_ < period_ms;
  text += is_quick || slowest_stage_.name == waiting_for_loop
              ? ". Requests kept the server busy, or other programs the machine: use a longer "
                "--tick, or give the server more of the machine"
              : ". Use a longer --tick, or fewer objects, queries or neighbours";
  return text;
}

}  // namespace starling::stream
