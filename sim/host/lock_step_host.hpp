// SPDX-License-Identifier: Apache-2.0
// Replays and the city simulation run on a lock-step host. A host takes objects and queries, runs
// ticks, and returns the changed lists. EmbeddedHost computes in this process, and ServerHost uses
// a server. Both give the same lists.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "starling/knn/engine/tick_result.hpp"
#include "starling/knn/tables/object_table.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/report.hpp"
#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/client/list_store.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/sim/data/traces/trace.hpp"

namespace starling::sim {

/// The stream of results that a host reports.
struct HostStream {
  std::string name;
  ReportOn on = ReportOn::distance;
  std::vector<QueryId> queries{};  ///< report only these queries' lists; empty: all queries
  bool wants_lists = true;
};

/// The numbers of rows that the engine accepted, dropped as late, and rejected.
struct RowCounts {
  std::uint64_t accepted = 0;
  std::uint64_t late = 0;
  std::uint64_t rejected = 0;
};

struct FinishedTick {
  Tick tick{};
  std::int64_t tau_us = 0;
  std::uint64_t objects = 0;  ///< number of live objects in the snapshot
  StageTimes times;
  /// The time from the begin of the tick until its lists have arrived. After ServerHost::begin(),
  /// the arrival is not measured, and wall_ms is the engine's time alone.
  double wall_ms = 0;
};

/// Called with each list that a tick changed. The neighbours are valid during the call. If `event`
/// is ListEvent::removed and `key` has no subject, all lists of the query are removed.
using ListHandler = std::function<void(const protocol::ListKey& key, ListEvent event,
                                       std::span<const protocol::HeldNeighbor> neighbors)>;

class LockStepHost {
 public:
  virtual ~LockStepHost() = default;

  /// Names the engine or server in words, for messages.
  virtual const std::string& describe() const = 0;
  virtual const SpaceOptions& space() const = 0;

  /// Adds the stream to the engine or server. Call once, before the first query. Returns the lists
  /// that the stream's queries already have; ticks report only changes to these lists. Throws
  /// UsageError if the stream's name is not valid, and protocol::RefusedError if a server refuses.
  virtual protocol::ListStore open(const HostStream& stream) = 0;

  // The rows take effect with the next tick. These functions throw std::runtime_error if a row
  // cannot be passed to the engine or server.
  virtual void put_objects(std::span<const TraceRow> rows) = 0;
  virtual void put_tags(std::span<const TagUpdate> rows) = 0;
  virtual void put_queries(std::span<const protocol::QuerySpec> queries) = 0;
  virtual void remove_queries(std::span<const QueryId> ids) = 0;

  /// Waits until all rows are processed and returns the counts since the last settle() or
  /// settle_all().
  virtual RowCounts settle() = 0;
  /// As settle(), but throws std::runtime_error with the reason if a row was not accepted. `what`
  /// names the rows in the message, for example "positions".
  virtual void settle_all(const std::string& what) = 0;

  /// Runs one tick at tau_us, which must not be less than the time of the last tick, and waits for
  /// the tick to finish. Calls `on_list` for each changed list, with the removals first. Throws
  /// std::runtime_error if the tick fails.
  virtual FinishedTick advance(std::int64_t tau_us, const ListHandler& on_list) = 0;

  /// Returns whether begin() and finish() may be called instead of advance().
  virtual bool runs_ahead() const { return false; }
  /// Begins a tick with the rows that were put before. Rows that are put afterwards belong to the
  /// next tick, which may begin before finish() is called for this tick. Waits while the engine has
  /// no room for another tick.
  virtual void begin(std::int64_t tau_us);
  /// Waits for the oldest tick that has begun. Returns, throws and calls `on_list` as advance()
  /// does.
  virtual FinishedTick finish(const ListHandler& on_list);
};

}  // namespace starling::sim
