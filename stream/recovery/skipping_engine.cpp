// SPDX-License-Identifier: Apache-2.0
// Lets rows gather in the staging half while ticks are skipped: see skipping_engine.hpp. The tables
// keep one row for each slot in the staging half, with the slot's last state.
#include "starling/stream/recovery/skipping_engine.hpp"

#include <algorithm>
#include <utility>

namespace starling::stream {
namespace {

/// A slot may have had several objects since the last tick that was searched. Only the last one
/// counts.
void keep_last_births(StagedVector<ObjectBirth>& births) {
  Slot end = 0;
  for (const ObjectBirth& birth : births) end = std::max(end, birth.slot + 1);
  std::vector<bool> is_known(end);
  auto kept = births.rbegin();
  for (auto birth = births.rbegin(); birth != births.rend(); ++birth) {
    if (is_known[birth->slot]) continue;
    is_known[birth->slot] = true;
    *kept++ = *birth;
  }
  births.erase(births.begin(), kept.base());
}

}  // namespace

void SkippingEngine::set_result_handler(ResultHandler handler) {
  handler_ = handler;
  engine().set_result_handler(std::move(handler));
}

void SkippingEngine::take_ahead() {
  if (is_through_) engine().take_ahead();
}

bool SkippingEngine::begin_tick(Tick tick, std::int64_t tau_us) {
  const bool is_in_range =
      tick >= first_searched_ && tick <= last_searched_.value_or(tick) && !skipped_.contains(tick);
  if (is_in_range) {
    lacks_lists_ = do_lists_fit_ && !do_lists_fit_();
    if (lacks_lists_) {
      skip_tick(tick, tau_us, tick > last_finished_ ? "its lists do not fit in memory" : "");
      return true;
    }
    is_through_ = skipped_.empty() || tick > *skipped_.rbegin();
    if (std::exchange(has_skipped_, false)) keep_last_births(engine().staging().births);
    return engine().begin_tick(tick, tau_us);
  }
  skip_tick(tick, tau_us, "");
  return true;
}

void SkippingEngine::skip_tick(Tick tick, std::int64_t tau_us, std::string error) {
  has_skipped_ = true;
  auto result = std::make_unique<TickResult>();
  result->tick = tick;
  result->tau_us = tau_us;
  result->error = std::move(error);
  handler_(std::move(result));
}

}  // namespace starling::stream
