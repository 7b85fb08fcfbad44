// The replay clock: rows in, ticks at the multiples of a step, the same for an embedded engine and
// for a server. `starling replay` runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "knn/engine/engine.hpp"
#include "knn/words/types.hpp"
#include "protocol/client/list_store.hpp"
#include "sim/traces/row_stream.hpp"
#include "sim/traces/trace.hpp"

namespace starling::sim {

struct StagedRows {
  std::uint64_t accepted = 0;
  std::uint64_t late = 0;
  std::uint64_t rejected = 0;
};

struct FinishedTick {
  Tick tick{};
  std::int64_t tau_us = 0;
  std::uint64_t objects = 0;  ///< alive in the snapshot
  StageTimes times;
};

/// Where a replay's rows go and its lists come from.
class ReplayTarget {
 public:
  virtual ~ReplayTarget() = default;

  virtual StagedRows stage(std::span<const TraceRow> rows) = 0;

  /// One tick, waited for. What it reports is applied to `lists`, if there is one: removed lists
  /// leave it, others replace what is there. Throws std::runtime_error if the tick fails.
  virtual FinishedTick advance(std::int64_t tau_us, protocol::ListStore* lists) = 0;
};

/// The first multiple of `tick_us` at or after `time_us`.
std::int64_t first_tick_us(std::int64_t time_us, std::int64_t tick_us);

struct ReplayOptions {
  static constexpr std::uint64_t ticks_max = 10'000'000;

  std::int64_t tick_us = 1'000'000;  ///< positive
  /// Called before the tick at so much of the trace's time after the first, to hold it back until
  /// it is due; empty: as fast as it goes.
  std::function<void(std::int64_t since_first_us)> wait;
};

struct ReplayResult {
  std::uint64_t rows = 0;
  std::uint64_t late = 0;
  std::uint64_t rejected = 0;
  std::vector<double> tick_ms;  ///< wall-clock time from asking for a tick to having its lists
  double stage_s = 0;           ///< wall-clock time of handing rows over
};

/// Called after each tick, with how many of the rows are through.
using TickHandler = std::function<void(const FinishedTick&, std::uint64_t rows_done)>;

/// The snapshot of a tick holds all rows in front of the first one later than tau: in event-time
/// order every row with time <= tau, in file order what a clock that follows the newest time has
/// let through. Ticks run through empty stretches too, and end with the first that is at or after
/// the newest row. Throws UsageError if the rows span more than ticks_max ticks.
ReplayResult replay(RowStream& rows, const ReplayOptions& options, ReplayTarget& target,
                    protocol::ListStore* lists, const TickHandler& on_tick);

}  // namespace starling::sim
