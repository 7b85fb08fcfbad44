// SPDX-License-Identifier: Apache-2.0
// Implements the loop over ticks: see replay.hpp.
#include "starling/sim/replay/replay.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "starling/sim/data/files/errors.hpp"

namespace starling::sim {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void check_tick_count(std::int64_t newest_us, std::int64_t first_us, std::int64_t tick_us) {
  const auto span_us = static_cast<std::uint64_t>(newest_us) - static_cast<std::uint64_t>(first_us);
  if (newest_us > first_us &&
      span_us / static_cast<std::uint64_t>(tick_us) > ReplayOptions::ticks_max)
    throw UsageError("the trace spans more than " + std::to_string(ReplayOptions::ticks_max) +
                     " ticks; use a longer --tick, or only a part of the trace with --from and "
                     "--until");
}

/// Takes rows from a stream as long as the next row is not later than a given time.
class DueRows {
 public:
  explicit DueRows(RowStream& rows) : rows_(rows), block_(rows.next_block()) {}

  bool at_end() const { return block_.empty(); }
  std::int64_t next_us() const { return block_.front().time_us; }

  /// Returns the next rows before the first row that is later than `tau_us`, but at most one block.
  /// Call take() until the result is empty.
  std::span<const TraceRow> take(std::int64_t tau_us) {
    if (begin_ == block_.size()) {
      block_ = rows_.next_block();
      begin_ = 0;
    }
    const auto rest = block_.subspan(begin_);
    const auto due =
        std::ranges::find_if(rest, [&](const TraceRow& row) { return row.time_us > tau_us; });
    const auto count = static_cast<std::size_t>(due - rest.begin());
    begin_ += count;
    return rest.first(count);
  }

 private:
  RowStream& rows_;
  std::span<const TraceRow> block_;
  std::size_t begin_ = 0;
};

/// Returns a handler that applies each reported list to `lists` and sets `changed`, or an empty
/// handler if `lists` is null.
ListHandler applied_to(protocol::ListStore* lists, std::vector<protocol::ListKey>* removed,
                       bool& changed) {
  if (lists == nullptr) return {};
  return [lists, removed, &changed](const protocol::ListKey& key, ListEvent event,
                                    std::span<const protocol::HeldNeighbor> neighbors) {
    changed = true;
    if (event == ListEvent::removed) {
      remove_lists(*lists, {&key, 1});
      if (removed != nullptr) removed->push_back(key);
    } else {
      (*lists)[key].neighbors.assign(neighbors.begin(), neighbors.end());
    }
  };
}

}  // namespace

protocol::ListStore start_replay(LockStepHost& host, const ReplaySetup& setup, bool wants_lists) {
  HostStream stream{.name = setup.stream, .on = setup.on, .wants_lists = wants_lists};
  for (const protocol::QuerySpec& query : setup.queries) stream.queries.push_back(query.id);
  protocol::ListStore held = host.open(stream);
  host.put_queries(setup.queries);
  host.settle_all("queries");
  return held;
}

std::int64_t first_tick_us(std::int64_t time_us, std::int64_t tick_us) {
  const std::int64_t whole = time_us / tick_us * tick_us;
  return whole < time_us ? whole + tick_us : whole;
}

ReplayResult replay(RowStream& rows, const ReplayOptions& options, LockStepHost& host,
                    protocol::ListStore* lists, const TickHandler& on_tick) {
  ReplayResult result;
  DueRows due(rows);
  if (due.at_end()) return result;
  const std::int64_t first_us = first_tick_us(due.next_us(), options.tick_us);
  check_tick_count(rows.newest_us(), first_us, options.tick_us);
  bool changed = false;
  const ListHandler on_list = applied_to(lists, options.removed, changed);
  // With `wait`, the tick's lists are due in real time, and must not wait for the next tick to
  // begin.
  const bool runs_ahead = host.runs_ahead() && !options.wait && !options.on_rows;
  ReplayProgress progress;
  const auto finished = [&](const FinishedTick& tick, std::uint64_t rows_done) {
    result.tick_ms.push_back(tick.wall_ms);
    const bool is_idle = lists != nullptr && !changed && rows_done == progress.rows_done;
    progress = {progress.ticks_done + 1, rows_done, is_idle};
    changed = false;
    if (on_tick) on_tick(tick, progress);
  };
  std::optional<std::uint64_t> rows_begun;  // number of rows of all ticks that have begun
  for (std::int64_t tau_us = first_us; !due.at_end(); tau_us += options.tick_us) {
    if (options.wait) options.wait(tau_us - first_us);
    for (auto block = due.take(tau_us); !block.empty(); block = due.take(tau_us)) {
      const auto start = std::chrono::steady_clock::now();
      if (options.on_rows) options.on_rows(block);
      host.put_objects(block);
      const RowCounts counts = host.settle();
      result.stage_s += seconds_since(start);
      result.rows += block.size();
      result.late += counts.late;
      result.rejected += counts.rejected;
    }
    if (!runs_ahead) {
      finished(host.advance(tau_us, on_list), result.rows);
      continue;
    }
    host.begin(tau_us);
    if (rows_begun) finished(host.finish(on_list), *rows_begun);
    rows_begun = result.rows;
  }
  if (rows_begun) finished(host.finish(on_list), *rows_begun);
  return result;
}

}  // namespace starling::sim
