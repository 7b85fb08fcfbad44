// SPDX-License-Identifier: Apache-2.0
// The last finished tick and its index, from which one-shot queries are answered while the next
// tick is computed. CpuEngine owns a FinishedTick.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <vector>

#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/points/index/spatial_index.hpp"
#include "starling/cpu/points/search/search.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/words/lattice.hpp"

namespace starling::cpu {

/// Working memory for the one-shot queries of one thread.
struct QuestionScratch {
  SearchScratch search;
  std::vector<Slot> slots;
};

/// A finished tick that later ticks leave as it is, for queries that take longer than a tick.
struct KeptTick {
  std::shared_ptr<const SpatialIndex> index;
  const ObjectSnapshot objects;
  Tick tick{};
  std::int64_t tau_us = 0;

  /// Any thread may call it.
  Answers answer(std::span<const OneShotQuery> queries, QuestionScratch& scratch) const;
};

class FinishedTick {
 public:
  /// `objects` must outlive this object.
  FinishedTick(Space space, const ObjectSnapshot& objects)
      : space_(space),
        objects_(objects),
        index_(std::make_shared<SpatialIndex>(space)),
        next_index_(std::make_shared<SpatialIndex>(space)) {}

  // Only the engine's thread calls these:

  /// Returns a lock that keeps one-shot queries out while ids of objects change. Waits for at most
  /// a few searches of each thread.
  std::unique_lock<std::shared_mutex> lock();
  /// Returns the index that the tick under way builds.
  SpatialIndex& next_index() { return *next_index_; }
  const SpatialIndex& index() const { return *index_; }
  /// Call when the tick under way has finished. It becomes the last finished tick.
  void finish(Tick tick, std::int64_t tau_us);
  /// Call when the tick under way has failed. The objects are then ahead of the index until a tick
  /// finishes.
  void fail();
  /// Keeps the last finished tick for as long as the result exists. Copies the objects, 32 bytes
  /// each, and leaves the index to the result when the next tick finishes. Returns nullptr if an
  /// earlier tick is still kept. Call it between ticks. Throws std::bad_alloc, and
  /// std::runtime_error while the objects are ahead.
  std::shared_ptr<const KeptTick> keep();

  Tick tick() const { return tick_; }
  std::int64_t tau_us() const { return tau_us_; }
  bool objects_are_ahead() const { return objects_ahead_; }
  /// Returns the bytes of the indexes that are not the last finished tick's, and of the objects of
  /// a kept tick.
  std::uint64_t spare_bytes_used() const;

  // Any thread may call these:

  /// Returns the answers to all queries, all from one tick. Returns std::nullopt if another tick
  /// finished before all queries were answered. If reads_objects() is true for a query, call this
  /// on the engine's thread between ticks. Throws std::bad_alloc, and std::runtime_error while the
  /// objects are ahead.
  std::optional<Answers> answer(std::span<const OneShotQuery> queries, QuestionScratch& scratch);

  /// Does what answer() does, but never waits. Returns std::nullopt while the engine wants or holds
  /// the mutex, or while the objects are ahead. Throws std::bad_alloc.
  std::optional<Answers> answer_at_once(std::span<const OneShotQuery> queries,
                                        QuestionScratch& scratch);

 private:
  const Space space_;
  const ObjectSnapshot& objects_;
  std::atomic<bool> engine_waits_{false};
  /// Guards the members below. Only the engine's thread writes them, so this thread reads them
  /// without the mutex.
  std::shared_mutex mutex_;
  std::shared_ptr<SpatialIndex> index_;
  Tick tick_{};
  std::int64_t tau_us_ = 0;
  bool objects_ahead_ = false;

  // Only the engine's thread uses these:
  std::shared_ptr<SpatialIndex> next_index_;
  /// Takes the place of the index of a kept tick when the next tick finishes; null: the last tick
  /// was not kept.
  std::shared_ptr<SpatialIndex> third_index_;
  std::weak_ptr<const KeptTick> kept_;
};

}  // namespace starling::cpu
