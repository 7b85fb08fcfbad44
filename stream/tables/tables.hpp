// SPDX-License-Identifier: Apache-2.0
// The tables of the server and the order in which they change: updates of objects in groups, long
// changes in slices, ticks in between. Requests and Ticker stand above it and ask it for their
// turns. ServerCore owns it.
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
    /// Called when has_room() may have become true.
    std::function<void()> has_room_again;
  };
  Tables(Executor& executor, const ProcessorOptions& processor, std::unique_ptr<Engine> engine,
         Options options);

  /// Returns the processor, when no thread beside the loop uses it. It has then applied all updates
  /// that came until now, and they are answered. Many updates, and a long change, are applied in
  /// slices, so a part of them may be applied. Only is_free() tells whether the processor may be
  /// changed.
  Processor& settled();
  /// Returns the processor, for a caller whose turn it is.
  Processor& processor() { return processor_; }
  const Processor& processor() const { return processor_; }
  /// Returns whether nothing is applied in slices.
  bool is_free() const { return !turns_.is_sliced(); }
  /// Returns whether no thread beside the loop uses the processor.
  bool is_at_rest() const { return !turns_.is_beside(); }
  /// Returns false if a change is applied in slices, or if as many updates wait as are applied
  /// together. No further change should come then.
  bool has_room() const;

  /// Updates of objects, and when they are applied.
  UpdateGroups& updates() { return updates_; }
  /// Returns whether updates wait, but fewer than should be applied together.
  bool takes_more_updates() const;

  /// Changes the tables in steps: see SlicedWork::start. No tick begins meanwhile.
  void slice(SlicedWork::Step step, std::function<void()> done) {
    turns_.slice(std::move(step), std::move(done));
  }
  /// Prepares the tables for a tick at `tau_us`, and then calls `ready`, which begins the tick. It
  /// may take several turns of the loop. No request changes the tables in between.
  void prepare_tick(std::int64_t tau_us, std::function<void()> ready);
  /// Calls `finish`, which lets the tables take a tick's result. With a log, waits until no long
  /// change is under way, because a change and a result have one order in the log.
  void when_free(std::function<void()> finish);

  const protocol::ServedSpace& space() const { return space_; }
  TickTime& time() { return time_; }
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
  Turns turns_;
  UpdateGroups updates_;
};

}  // namespace starling::stream
