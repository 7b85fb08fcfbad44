// SPDX-License-Identifier: Apache-2.0
// ReportDelivery passes the results of ticks to a handler, in tick order. It passes a result after
// the result's reports have been copied to the host. ReportDelivery's own thread waits for long
// copies, and the engine's thread waits for short copies. GpuEngine owns the ReportDelivery.
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
  /// Passes the tick's result to the handler after the result is copied to the host, all earlier
  /// results are delivered, and all earlier tasks have run.
  void deliver(OutgoingTick& tick);
  /// Runs `task` after all earlier results are delivered and all earlier tasks have run.
  void post(std::function<void()> task);

 private:
  // Two results may be on their way to the host, while readers still hold two earlier results.
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
