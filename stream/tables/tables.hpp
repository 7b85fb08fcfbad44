// SPDX-License-Identifier: Apache-2.0
// The tables of the server and the order in which they change: updates of objects in groups, long
// changes in slices, and ticks in between. Requests and Ticker change the tables through this
// class. ServerCore owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "starling/knn/engine/engine.hpp"
#include "starling/knn/tables/processor.hpp"
#include "starling/protocol/rows/served_space.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/pools/sliced_work.hpp"
#include "starling/stream/state/memory_budget.hpp"
#include "starling/stream/state/name_table.hpp"
#include "starling/stream/tables/growth.hpp"
#include "starling/stream/tables/outgrown_queries.hpp"
#include "starling/stream/tables/tick_time.hpp"
#include "starling/stream/tables/turns.hpp"
#include "starling/stream/tables/update_groups.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class Tables {
 public:
  struct Options {
    MemoryBudget::Options memory;
    NameLimits names;
    TickTimeOptions time;
    UpdateGroups::Options updates;
    OutgrownQueries::Options outgrown{};
    /// Called when has_room() may have become true.
    std::function<void()> has_room_again;
  };
  Tables(Executor& executor, const ProcessorOptions& processor, std::unique_ptr<Engine> engine,
         Options options);

  /// Waits until no thread beside the loop uses the processor, and returns it. All updates that
  /// came before are then applied and answered, unless updates or a long change are being applied
  /// in slices. The processor may be changed only if is_free() is true.
  Processor& settled();
  /// Returns the processor without waiting, for a caller that has its turn.
  Processor& processor() { return processor_; }
  const Processor& processor() const { return processor_; }
  /// Returns whether no change is being applied in slices.
  bool is_free() const { return !turns_.is_sliced(); }
  /// Returns whether no thread beside the loop uses the processor.
  bool is_at_rest() const { return !turns_.is_beside(); }
  /// Returns false if a change is being applied in slices, or if a full group of updates waits for
  /// the thread beside the loop. No further change should come then.
  bool has_room() const;

  UpdateGroups& updates() { return updates_; }
  /// Returns whether updates wait and their group has room for more. Always false with one update
  /// thread.
  bool takes_more_updates() const;

  /// Changes the tables in steps: see SlicedWork::start. No tick begins meanwhile.
  void slice(SlicedWork::Step step, std::function<void()> done) {
    turns_.slice(std::move(step), std::move(done));
  }
  /// Prepares the tables for a tick at `tau_us`, then calls `step` until it returns true, and then
  /// `ready`, which begins the tick. This may take several turns of the loop, and no request
  /// changes the tables meanwhile.
  void prepare_tick(std::int64_t tau_us, SlicedWork::Step step, std::function<void()> ready);
  /// Calls `finish`, which lets the tables take a tick's result. With a log, waits until no long
  /// change is under way, because the log has changes and results in one order.
  void when_free(std::function<void()> finish);

  /// Any thread may call it.
  const protocol::ServedSpace& space() const { return space_; }
  TickTime& time() { return time_; }
  /// Call its function within the step of prepare_tick().
  OutgrownQueries& outgrown() { return outgrown_; }
  Growth& growth() { return growth_; }
  const Growth& growth() const { return growth_; }
  NameTable& names() { return names_; }
  const NameTable& names() const { return names_; }
  /// Returns for how long the loop has waited so far for the thread beside it.
  std::int64_t waited_us() const { return turns_.waited_us(); }

 private:
  protocol::ServedSpace space_;
  Processor processor_;
  TickTime time_;
  const bool has_log_;
  NameTable names_;
  Growth growth_;
  OutgrownQueries outgrown_;
  Turns turns_;
  UpdateGroups updates_;
};

}  // namespace starling::stream
