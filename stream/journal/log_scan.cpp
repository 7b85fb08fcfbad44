// SPDX-License-Identifier: Apache-2.0
// Looks at the marks of ticks and at the heads of requests: see log_scan.hpp.
#include "starling/stream/journal/log_scan.hpp"

#include <algorithm>
#include <variant>

#include "starling/stream/journal/record_codec.hpp"
#include "starling/stream/journal/records.hpp"

namespace starling::stream {

void LogScan::look_at(const log::Record& record) {
  check_known(record);
  if (record.type == record_type::epoch) {
    epoch_ = std::get<EpochRecord>(decode(record)).epoch;
  } else if (record.type == record_type::run) {
    runs_ = std::get<RunRecord>(decode(record)).runs;
  } else if (record.type == record_type::tick_begun) {
    const auto begun = std::get<TickBegunRecord>(decode(record));
    ++under_way_;
    if (begun.session != 0) unanswered_[{begun.session, begun.sequence}] = begun.tick;
  } else if (record.type == record_type::tick_finished) {
    const auto finished = std::get<TickFinishedRecord>(decode(record));
    if (finished.error.empty())
      last_finished_ = finished.tick;
    else
      failed_.insert(finished.tick);
    --under_way_;
  } else if (record.type == record_type::request && !unanswered_.empty()) {
    unanswered_.erase(request_of(record));
  }
  const bool is_before_mark = record.type == record_type::outgrown;
  if (under_way_ == 0 && !is_before_mark) clean_end_ = record.sequence + 1;
}

Tick LogScan::first_needed_tick() const {
  std::uint64_t first = to_number(last_finished_);
  for (const auto& [request, tick] : unanswered_)
    first = std::min(first, to_number(last_good_tick_before(tick)));
  return Tick{first};
}

Tick LogScan::last_good_tick_before(Tick tick) const {
  std::uint64_t before = to_number(tick) - 1;
  while (before > 0 && failed_.contains(Tick{before})) --before;
  return Tick{before};
}

}  // namespace starling::stream
