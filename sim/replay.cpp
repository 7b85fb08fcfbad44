// The loop from rows to ticks: see replay.hpp.
#include "sim/replay.hpp"

#include <algorithm>
#include <chrono>

namespace starling::sim {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void check_tick_count(std::span<const TraceRow> rows, std::int64_t first_us, std::int64_t tick_us) {
  const std::int64_t newest_us = std::ranges::max_element(rows, {}, &TraceRow::time_us)->time_us;
  const auto span_us = static_cast<std::uint64_t>(newest_us) - static_cast<std::uint64_t>(first_us);
  if (newest_us > first_us &&
      span_us / static_cast<std::uint64_t>(tick_us) > ReplayOptions::ticks_max)
    throw UsageError("the trace spans more than " + std::to_string(ReplayOptions::ticks_max) +
                     " ticks; choose a longer --tick, or a part of the trace with --from and --to");
}

}  // namespace

void arrange(std::vector<TraceRow>& rows, const RowOrder& order) {
  std::erase_if(rows, [&](const TraceRow& row) {
    return row.time_us < order.from_us || row.time_us > order.to_us;
  });
  if (order.by_event_time) std::ranges::stable_sort(rows, {}, &TraceRow::time_us);
}

std::int64_t first_tick_us(std::int64_t time_us, std::int64_t tick_us) {
  const std::int64_t whole = time_us / tick_us * tick_us;
  return whole < time_us ? whole + tick_us : whole;
}

ReplayResult replay(std::span<const TraceRow> rows, const ReplayOptions& options,
                    ReplayTarget& target, protocol::ListStore* lists, const TickHandler& on_tick) {
  ReplayResult result;
  if (rows.empty()) return result;
  const std::int64_t first_us = first_tick_us(rows.front().time_us, options.tick_us);
  check_tick_count(rows, first_us, options.tick_us);
  std::size_t done = 0;
  for (std::int64_t tau_us = first_us; done < rows.size(); tau_us += options.tick_us) {
    const auto due = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(done), rows.end(),
                                  [&](const TraceRow& row) { return row.time_us > tau_us; });
    const auto end = static_cast<std::size_t>(due - rows.begin());
    if (options.wait) options.wait(tau_us - first_us);
    const auto stage_start = std::chrono::steady_clock::now();
    const StagedRows staged = target.stage(rows.subspan(done, end - done));
    result.stage_s += seconds_since(stage_start);
    done = end;
    result.rows = done;
    result.late += staged.late;
    result.rejected += staged.rejected;
    const auto tick_start = std::chrono::steady_clock::now();
    const FinishedTick tick = target.advance(tau_us, lists);
    result.tick_ms.push_back(seconds_since(tick_start) * 1e3);
    if (on_tick) on_tick(tick, done);
  }
  return result;
}

}  // namespace starling::sim
