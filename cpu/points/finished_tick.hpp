// SPDX-License-Identifier: Apache-2.0
// The last finished tick and its index, from which one-shot queries are answered while the next
// tick is computed. CpuEngine owns a FinishedTick.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/points/index/spatial_index.hpp"
#include "starling/cpu/points/search/search.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/words/lattice.hpp"

namespace starling::cpu {

class FinishedTick {
 public:
  /// `objects` must outlive this object.
  FinishedTick(Space space, const ObjectSnapshot& objects)
      : objects_(objects), indexes_{SpatialIndex(space), SpatialIndex(space)} {}

  // Only the engine's thread calls these:

  /// Returns a lock that keeps one-shot queries out while ids of objects change. Waits for at most
  /// a few one-shot queries.
  std::unique_lock<std::mutex> lock();
  /// Returns the index that the tick under way builds.
  SpatialIndex& next_index() { return indexes_[1 - index_]; }
  const SpatialIndex& index() const { return indexes_[index_]; }
  const SpatialIndex& spare_index() const { return indexes_[1 - index_]; }
  /// Call when the tick under way has finished. It becomes the last finished tick.
  void finish(Tick tick, std::int64_t tau_us);
  /// Call when the tick under way has failed. The objects are then ahead of the index until a tick
  /// finishes.
  void fail();

  Tick tick() const { return tick_; }
  std::int64_t tau_us() const { return tau_us_; }
  bool objects_are_ahead() const { return objects_ahead_; }

  // Any thread may call these:

  /// Returns the answers to all queries, all from one tick. Returns std::nullopt if another tick
  /// finished before all queries were answered. If reads_objects() is true for a query, call this
  /// on the engine's thread between ticks. Throws std::bad_alloc, and std::runtime_error while the
  /// objects are ahead.
  std::optional<Answers> answer(std::span<const OneShotQuery> queries);

  /// Does what answer() does, but never waits. Returns std::nullopt while the engine or another
  /// query holds the mutex, or while the objects are ahead. Throws std::bad_alloc.
  std::optional<Answers> answer_at_once(std::span<const OneShotQuery> queries);

 private:
  void append_answer(const OneShotQuery& query, Answers& answers);

  const ObjectSnapshot& objects_;
  std::atomic<bool> engine_waits_{false};
  /// Guards all members below. Only the engine's thread writes index_, tick_, tau_us_ and
  /// objects_ahead_, so this thread reads these four without the mutex.
  std::mutex mutex_;
  std::array<SpatialIndex, 2> indexes_;
  std::size_t index_ = 0;
  Tick tick_{};
  std::int64_t tau_us_ = 0;
  bool objects_ahead_ = false;
  SearchScratch scratch_;
  std::vector<Slot> slots_;
};

}  // namespace starling::cpu
