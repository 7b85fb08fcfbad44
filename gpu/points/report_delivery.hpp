// Delivers results in tick order, each when its copy from the device is done: on a thread of its
// own where that takes long, else on the engine's. GpuEngine's.
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

  // Of the engine's thread:

  /// For the next tick; waits until the copy of the one before the last is done.
  OutgoingTick& next();
  /// What long copies are enqueued on.
  const CudaStream& cuda_stream() const { return stream_; }
  /// Passes its result on, in its turn, when its copy is done.
  void deliver(OutgoingTick& tick);
  /// Runs `task` in its turn: behind every result so far.
  void post(std::function<void()> task);

 private:
  // Two on their way, and as many with those who read them.
  static constexpr std::size_t reports_kept_max = 4;

  void post_to_thread(std::function<void()> task);
  void finish(OutgoingTick& tick);

  Engine::ResultHandler on_result_;
  ReturnPool<HostReports> reports_{reports_kept_max};
  std::array<OutgoingTick, 2> ticks_;
  std::size_t last_ = 0;
  CudaStream stream_;
  std::atomic<int> waiting_{0};  ///< tasks that the thread has not done
  TaskThread thread_;
};

}  // namespace starling::gpu
