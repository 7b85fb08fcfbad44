// SPDX-License-Identifier: Apache-2.0
// Delivers results in tick order, each after its copy from the device is done. The delivery thread
// waits for long copies; the engine's thread waits for short copies. GpuEngine owns it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/outgoing_tick.hpp"
#include "starling/knn/base/return_pool.hpp"
#include "starling/knn/base/task_thread.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::gpu {

class ReportDelivery {
 public:
  ReportDelivery(DeviceMemory& memory, int device);

  void set_handler(Engine::ResultHandler handler) { on_result_ = std::move(handler); }

  // For the engine's thread:

  /// Returns a free OutgoingTick for the next tick. If the results of two ticks are still being
  /// copied, waits for the older result.
  OutgoingTick& next();
  /// The CUDA stream for long copies.
  const CudaStream& cuda_stream() const { return stream_; }
  /// Passes the tick's result to the handler after three things are done: the result's copy, all
  /// earlier results, and all earlier tasks.
  void deliver(OutgoingTick& tick);
  /// Runs `task` after all earlier results and tasks.
  void post(std::function<void()> task);

 private:
  // Two reports are on their way to the host, and readers of results still hold two.
  static constexpr std::size_t reports_kept_max = 4;

  void post_to_thread(std::function<void()> task);
  void finish(OutgoingTick& tick);

  Engine::ResultHandler on_result_;
  ReturnPool<HostReports> reports_{reports_kept_max};
  std::array<OutgoingTick, 2> ticks_;
  std::size_t last_ = 0;
  CudaStream stream_;
  std::atomic<int> waiting_{0};  ///< tasks that the thread has not finished
  TaskThread thread_;
};

}  // namespace starling::gpu
