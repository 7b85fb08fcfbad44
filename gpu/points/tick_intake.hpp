// SPDX-License-Identifier: Apache-2.0
// TickIntake passes ticks to the engine's thread, in order. It takes each tick's staged rows. If
// there are many rows, TickIntake copies them to the device while earlier ticks are computed. It
// copies most rows before their own tick begins. GpuEngine owns the TickIntake.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/fault_injection.hpp"
#include "starling/gpu/points/objects/device_rows.hpp"
#include "starling/knn/base/task_thread.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/engine/staged_parts.hpp"

namespace starling::gpu {

/// A tick that has begun. The host keeps the tick's rows until the device has applied them, so no
/// rows are lost if applying them fails.
struct BegunTick {
  BegunTick(DeviceMemory& memory, PinnedMemory& staged_memory)
      : staged(&staged_memory), rows(memory) {}

  Tick tick{};
  std::int64_t tau_us = 0;
  Staging staged;
  DeviceRows rows;
  bool is_copied_beside = false;  ///< true if TickIntake's CUDA stream copies the rows
  struct PartCopy {
    Event begun, copied;
  };
  /// Entry i times the copy of part i, which was enqueued before the tick began. Entries from
  /// staged.part_ends.size() on are left over from earlier ticks.
  std::vector<PartCopy> part_copies;
  Event copy_begun, copied;       ///< begin and end of the copy of the rows after the last part
  std::exception_ptr copy_error;  ///< why the copy in TickIntake's CUDA stream failed, or null
  std::atomic<bool> is_free{true};

  /// Adds to `ends` when the copies of the rows began and ended. `now` is an event after all
  /// copies. Call just after the CUDA stream has passed `now`.
  void tell_copies(const Event& now, StageEnds& ends) const;
};

/// The engine's thread stays awake for this long after each task. A program that ticks without
/// pause begins the next tick within this time.
inline constexpr std::chrono::microseconds awake_after_tick{50};

class TickIntake {
 public:
  /// Calls `compute` on the engine's thread for each tick, in order. `compute` must call give_back.
  /// Before a tick begins, its rows are copied in parts of at least `part_rows_min` rows.
  TickIntake(DeviceMemory& memory, int device, std::size_t part_rows_min,
             std::shared_ptr<const FaultInjection> faults, std::function<void(BegunTick&)> compute);
  ~TickIntake();

  // For the thread that drives the engine:

  Staging& staging() { return staging_; }
  /// Begins to copy the rows that were staged since the last part, if they are enough for a part
  /// and a BegunTick is free.
  void take_ahead();
  /// Returns false while the rows of two begun ticks wait to be applied.
  bool has_room() const;
  /// Begins a tick with the rows in staging(). Returns false, and changes nothing, if there is no
  /// room.
  bool begin(Tick tick, std::int64_t tau_us);
  /// Runs `task` on the engine's thread, after every tick begun so far.
  void post(std::function<void()> task);
  /// Runs `work` on the engine's thread, after every tick begun so far, and waits for it. Returns
  /// the result of `work`, or throws its exception.
  template <class Result, class Work>
  Result run(Work work) {
    copy_thread_.run<void>([] {});
    return engine_thread_.run<Result>(std::move(work));
  }

  // For the engine's thread:

  /// Frees `begun` for another tick. Call after the rows of `begun` are applied, or copied
  /// elsewhere.
  void give_back(BegunTick& begun);
  /// Waits until no copy to the device is under way. Ignores errors.
  void drain() const noexcept { stream_.drain(); }

 private:
  /// The memory of staged rows, which is freed only when no copy reads it any more.
  class StagedMemory final : public PinnedMemory {
   public:
    explicit StagedMemory(TickIntake& intake) : intake_(intake) {}

   private:
    void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override;

    TickIntake& intake_;
  };

  BegunTick* find_free();
  /// Waits until all copies that were begun are done.
  void finish_copies();
  /// Runs `before` on the copy thread, and then `task` on the engine's thread.
  void pass_on(std::function<void()> before, std::function<void()> task);
  void copy(BegunTick& begun);

  StagedParts parts_;
  std::shared_ptr<const FaultInjection> faults_;
  std::function<void(BegunTick&)> compute_;
  bool is_ending_ = false;
  StagedMemory staged_memory_{*this};
  Staging staging_;
  std::array<BegunTick, 2> begun_;
  BegunTick* next_ = nullptr;      ///< gets the parts of staging_ before their tick begins, or null
  std::atomic<int> passed_on_{0};  ///< tasks that copy_thread_ has yet to post to engine_thread_
  CudaStream stream_;
  TaskThread engine_thread_{awake_after_tick};
  TaskThread copy_thread_;  ///< destroyed first, since it posts to engine_thread_
};

}  // namespace starling::gpu
