// The last finished tick: its index, and the one-shot questions that read it while the next tick is
// computed. GpuEngine owns it.
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

  /// `objects` outlives it.
  FinishedTick(DeviceMemory& memory, DeviceObjects& objects)
      : objects_(objects), indexes_{Index(memory), Index(memory)} {}

  // Of the engine's thread:

  /// Waits until no question reads an older tick, nor this one if the objects are ahead of it: then
  /// rows may be applied, whose births may take the slots of what has left, and the next index
  /// built. A batch at most is waited for, since new ones read this tick or none.
  void wait_for_older_readers() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] {
      return readers_[1 - finished_] == 0 && (!objects_ahead_ || readers_[finished_] == 0);
    });
  }

  /// The other index, for the tick under way.
  Index& next_index() { return indexes_[1 - finished_]; }
  const Index& index() const { return indexes_[finished_]; }
  const Index& spare_index() const { return indexes_[1 - finished_]; }

  /// That tick has finished.
  void finish(Tick tick, std::int64_t tau_us) {
    const std::lock_guard lock(mutex_);
    finished_ = 1 - finished_;
    tick_ = tick;
    tau_us_ = tau_us;
    objects_ahead_ = false;
    view_ = objects_.view();
  }

  /// That tick has failed: until one finishes the objects are ahead of this one.
  void fail() {
    const std::lock_guard lock(mutex_);
    objects_ahead_ = true;
  }

  /// While it lives no question reads: the objects' arrays may move.
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

  // Of any thread:

  /// One question, or a batch of them: while it lives, what it shows stays where and as it is.
  class Reading {
   public:
    /// Throws std::runtime_error while the objects are ahead of the tick.
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
    ObjectsView objects;  ///< ids of what the index holds; the rest may be ahead of it

   private:
    FinishedTick& finished_;
    std::size_t number_ = 0;  ///< of the index
  };

 private:
  DeviceObjects& objects_;
  /// Guards all below but the next index; the engine's thread, which alone writes, reads without.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Index, 2> indexes_;
  std::size_t finished_ = 0;  ///< the index of the last finished tick
  Tick tick_{};
  std::int64_t tau_us_ = 0;
  bool objects_ahead_ = false;
  ObjectsView view_;
  bool is_closed_ = false;
  std::array<std::size_t, 2> readers_{};  ///< by index
};

}  // namespace starling::gpu
