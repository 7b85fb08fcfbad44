// SPDX-License-Identifier: Apache-2.0
// The replay loop passes rows to a host and runs a tick at every multiple of
// ReplayOptions::tick_us. The loop is the same for every host. `starling replay` calls these
// functions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "starling/knn/words/query.hpp"
#include "starling/protocol/client/list_store.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/sim/data/traces/row_stream.hpp"
#include "starling/sim/host/lock_step_host.hpp"

namespace starling::sim {

/// The stream and the queries of a replay.
struct ReplaySetup {
  std::string stream = "replay";
  ReportOn on = ReportOn::distance;
  std::vector<protocol::QuerySpec> queries;
};

/// Opens the stream and puts the queries. Returns the lists that the queries already have: none,
/// unless an earlier replay put the same queries on the same server. Ticks report only changes to
/// these lists. Throws std::runtime_error if a query is not accepted, and whatever
/// LockStepHost::open() throws.
protocol::ListStore start_replay(LockStepHost& host, const ReplaySetup& setup,
                                 bool wants_lists = true);

/// Returns the first multiple of `tick_us` at or after `time_us`.
std::int64_t first_tick_us(std::int64_t time_us, std::int64_t tick_us);

struct ReplayOptions {
  static constexpr std::uint64_t ticks_max = 10'000'000;

  std::int64_t tick_us = 1'000'000;  ///< positive
  /// Called before each tick; returns when the tick is due. `since_first_us` is the trace time
  /// since the first tick. If `wait` is empty, ticks run as fast as possible.
  std::function<void(std::int64_t since_first_us)> wait;
  /// Called with the rows that each tick takes, before this tick. If set, each tick's lists are
  /// used before the next tick begins.
  std::function<void(std::span<const TraceRow>)> on_rows{};
  /// If not null, each tick appends the keys of the lists that it removes. The caller clears the
  /// vector.
  std::vector<protocol::ListKey>* removed = nullptr;
};

struct ReplayResult {
  std::uint64_t rows = 0;
  std::uint64_t late = 0;
  std::uint64_t rejected = 0;
  std::vector<double> tick_ms;  ///< one time for each tick: see FinishedTick::wall_ms
  double stage_s = 0;           ///< wall-clock time of passing rows to the host
};

struct ReplayProgress {
  std::uint64_t ticks_done = 0;
  std::uint64_t rows_done = 0;  ///< rows passed to the host up to this tick
  /// True if no row came since the last tick and no list changed. Always false if replay()'s
  /// `lists` is null.
  bool is_idle = false;
};

/// Called after each tick.
using TickHandler = std::function<void(const FinishedTick&, const ReplayProgress&)>;

/// Replays all rows. Before the tick at tau, replay() takes rows until the next row is later than
/// tau. If the rows are in order of time, these are all rows with time <= tau. In another order, a
/// row that follows a row later than tau waits until the later row is taken. Ticks also run
/// where the trace has no rows. The last tick is the first tick at or after the time of the newest
/// row. Each tick's changes are applied to `lists` unless it is null. Throws UsageError if the rows
/// span more than ticks_max ticks.
ReplayResult replay(RowStream& rows, const ReplayOptions& options, LockStepHost& host,
                    protocol::ListStore* lists, const TickHandler& on_tick);

}  // namespace starling::sim
