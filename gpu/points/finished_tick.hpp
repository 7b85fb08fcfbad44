// SPDX-License-Identifier: Apache-2.0
// FinishedTick holds the index of the last finished tick. One-shot questions read this index while
// the next tick is computed. FinishedTick counts these readers. GpuEngine owns the FinishedTick.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>

#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/objects/device_objects.hpp"
#include "starling/gpu/points/tick_index.hpp"
#include "starling/knn/engine/engine_answers.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::gpu {

template <int dimensions>
class FinishedTick {
 public:
  using Index = TickIndex<dimensions>;

  /// `objects` must outlive the FinishedTick.
  FinishedTick(DeviceMemory& memory, DeviceObjects& objects)
      : objects_(objects), indexes_{Index(memory), Index(memory)} {}

  // For the engine's thread only:

  /// Waits until no question reads a tick older than the finished tick. If the objects are ahead of
  /// the finished tick (see fail), also waits until no question reads the finished tick. Afterwards
  /// the caller may apply rows, even births that reuse the slots of objects that have left, and may
  /// build the next index. The wait lasts at most as long as one batch of questions, because new
  /// batches read the finished tick or throw.
  void wait_for_older_readers() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] {
      return readers_[1 - finished_] == 0 && (!objects_ahead_ || readers_[finished_] == 0);
    });
  }

  /// Returns the index that the tick under way builds.
  Index& next_index() { return indexes_[1 - finished_]; }
  const Index& index() const { return indexes_[finished_]; }
  const Index& spare_index() const { return indexes_[1 - finished_]; }

  /// Call when the tick under way has finished. Its index, next_index(), becomes index().
  void finish(Tick tick, std::int64_t tau_us) {
    const std::lock_guard lock(mutex_);
    finished_ = 1 - finished_;
    tick_ = tick;
    tau_us_ = tau_us;
    objects_ahead_ = false;
    view_ = objects_.view();
  }

  /// Call when the tick under way has failed. From then on the objects are ahead of the finished
  /// tick: they may be newer than its index. They stay ahead until another tick finishes.
  void fail() {
    const std::lock_guard lock(mutex_);
    objects_ahead_ = true;
  }

  /// Keeps questions out while the objects' arrays are allocated anew. The constructor waits until
  /// no question reads the objects. While a Closed exists, new questions wait.
  class Closed {
   public:
    explicit Closed(FinishedTick& finished) : finished_(finished) {
      std::unique_lock lock(finished_.mutex_);
      finished_.is_closed_ = true;
      finished_.changed_.wait(
          lock, [this] { return finished_.readers_ == std::array<std::size_t, 2>{}; });
    }
    Closed(const Closed&) = delete;
    Closed& operator=(const Closed&) = delete;
    ~Closed() {
      const std::lock_guard lock(finished_.mutex_);
      finished_.is_closed_ = false;
      finished_.view_ = finished_.objects_.view();
      finished_.changed_.notify_all();
    }

   private:
    FinishedTick& finished_;
  };

  Tick tick() const { return tick_; }
  std::int64_t tau_us() const { return tau_us_; }
  bool objects_are_ahead() const { return objects_ahead_; }

  // For any thread:

  /// Read access for one batch of questions. While a Reading exists, the index and the ids of the
  /// indexed objects do not change, and the objects' arrays are not allocated anew.
  class Reading {
   public:
    /// Throws std::runtime_error while the objects are ahead of the finished tick.
    explicit Reading(FinishedTick& finished) : finished_(finished) {
      std::unique_lock lock(finished_.mutex_);
      finished_.changed_.wait(lock, [this] { return !finished_.is_closed_; });
      if (finished_.objects_ahead_) throw std::runtime_error(ask_after_next_tick);
      number_ = finished_.finished_;
      ++finished_.readers_[number_];
      tick = finished_.tick_;
      tau_us = finished_.tau_us_;
      objects = finished_.view_;
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading() {
      const std::lock_guard lock(finished_.mutex_);
      --finished_.readers_[number_];
      finished_.changed_.notify_all();
    }

    const Index& index() const { return finished_.indexes_[number_]; }

    Tick tick{};
    std::int64_t tau_us = 0;
    ObjectsView objects;  ///< ids of indexed objects are as of `tick`; other data may be newer

   private:
    FinishedTick& finished_;
    std::size_t number_ = 0;  ///< this Reading's index in `indexes_`
  };

 private:
  DeviceObjects& objects_;
  /// Guards all members below except the next index. Other threads write only readers_, so the
  /// engine's thread reads the other members without locking.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Index, 2> indexes_;
  std::size_t finished_ = 0;  ///< the finished tick's index in `indexes_`
  Tick tick_{};
  std::int64_t tau_us_ = 0;
  bool objects_ahead_ = false;
  ObjectsView view_;
  bool is_closed_ = false;
  std::array<std::size_t, 2> readers_{};  ///< [i]: number of Readings that read indexes_[i]
};

}  // namespace starling::gpu
