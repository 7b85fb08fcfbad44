// The way of a tick to the engine's thread: its staged rows are handed over, copied to the device
// beside the ticks before it, and computed from in order. GpuEngine's.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <utility>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/objects/device_rows.hpp"
#include "starling/knn/base/task_thread.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::gpu {

/// A tick that has been begun. Its rows stay on the host until they are applied, so that nothing
/// need be brought back from the device if they cannot be.
struct BegunTick {
  explicit BegunTick(DeviceMemory& memory) : staged(&pinned_memory()), rows(memory) {}

  Tick tick{};
  std::int64_t tau_us = 0;
  Staging staged;
  DeviceRows rows;
  bool is_copied_beside = false;  ///< on a CUDA stream of its own, between these events
  Event copy_begun, copied;
  std::exception_ptr copy_error;  ///< why it is not
  std::atomic<bool> is_free{true};
};

class TickIntake {
 public:
  /// `compute` runs on the engine's thread, for each tick in order, and gives its rows back.
  TickIntake(DeviceMemory& memory, int device, std::function<void(BegunTick&)> compute);

  // Of the thread that drives the engine:

  Staging& staging() { return staging_; }
  /// False, with nothing changed, while the rows of two ticks wait to be applied.
  bool begin(Tick tick, std::int64_t tau_us);
  /// Runs `task` on the engine's thread, behind every tick begun so far.
  void post(std::function<void()> task);
  /// The same, and waits; returns or throws what it does.
  template <class Result, class Work>
  Result run(Work work) {
    copy_thread_.run<void>([] {});
    return engine_thread_.run<Result>(std::move(work));
  }

  // Of the engine's thread:

  /// Its rows are applied, or taken out.
  void give_back(BegunTick& begun);
  /// Until no copy to the device is under way.
  void drain() const noexcept { stream_.drain(); }

 private:
  /// Runs `before` on the copy thread, and then `task` on the engine's.
  void pass_on(std::function<void()> before, std::function<void()> task);
  void copy(BegunTick& begun);

  std::function<void(BegunTick&)> compute_;
  Staging staging_;
  std::array<BegunTick, 2> begun_;
  std::atomic<int> passed_on_{0};  ///< tasks for the engine's thread that the other still has
  CudaStream stream_;
  TaskThread engine_thread_;
  TaskThread copy_thread_;  ///< ends first, since it hands on to the engine's
};

}  // namespace starling::gpu
