// The last finished tick: its index, and the one-shot questions that it answers while the next tick
// is computed. CpuEngine owns it.
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
  /// `objects` outlives it.
  FinishedTick(Space space, const ObjectSnapshot& objects)
      : objects_(objects), indexes_{SpatialIndex(space), SpatialIndex(space)} {}

  // Of the engine's thread:

  /// Keeps questions out while ids of objects change. Waits for a few questions at most.
  std::unique_lock<std::mutex> lock();
  /// The other index, for the tick under way.
  SpatialIndex& next_index() { return indexes_[1 - index_]; }
  const SpatialIndex& index() const { return indexes_[index_]; }
  const SpatialIndex& spare_index() const { return indexes_[1 - index_]; }
  /// That tick has finished.
  void finish(Tick tick, std::int64_t tau_us);
  /// That tick has failed: until one finishes the objects are ahead of this one.
  void fail();

  Tick tick() const { return tick_; }
  std::int64_t tau_us() const { return tau_us_; }
  bool objects_are_ahead() const { return objects_ahead_; }

  // Of any thread:

  /// All answers from one tick; nothing if another finished in between. Questions that look at more
  /// of the objects than their ids are for the engine's thread, between ticks. Throws
  /// std::bad_alloc; std::runtime_error while the objects are ahead.
  std::optional<Answers> answer(std::span<const OneShotQuery> queries);

  /// The same without waiting for anybody: nothing while the engine or another question is at it.
  /// Throws std::bad_alloc.
  std::optional<Answers> answer_at_once(std::span<const OneShotQuery> queries);

 private:
  void append_answer(const OneShotQuery& query, Answers& answers);

  const ObjectSnapshot& objects_;
  std::atomic<bool> engine_waits_{false};
  /// Guards all below; the engine's thread, which alone writes, reads without, and so does whoever
  /// asks between ticks.
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
