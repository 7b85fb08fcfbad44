// SPDX-License-Identifier: Apache-2.0
// Classes that own CUDA streams, events and graphs. They can be moved and not copied. In gpu/, only
// copy_from_device (gpu/backend.hpp) uses the default CUDA stream.
#pragma once

#include <utility>

#include <cuda_runtime_api.h>

#include "starling/gpu/device/check.hpp"

namespace starling::gpu {

class Event;

class CudaStream {
 public:
  CudaStream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  CudaStream(CudaStream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  CudaStream& operator=(CudaStream&&) = delete;  // an owner keeps its CUDA stream for life
  ~CudaStream() {
    if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
  }

  cudaStream_t get() const { return stream_; }
  /// Waits until all enqueued work is done.
  void wait() const { check(cudaStreamSynchronize(stream_)); }
  /// Returns true if some enqueued work is not done yet. Throws DeviceError if the work failed.
  bool is_busy() const {
    const cudaError_t code = cudaStreamQuery(stream_);
    if (code != cudaErrorNotReady) {
      check(code);
      return false;
    }
    static_cast<void>(cudaGetLastError());  // "not ready" is an answer, not an error
    return true;
  }
  /// Waits until all enqueued work is done, and ignores errors. An error was already reported, or
  /// the next checked call will report it.
  void drain() const noexcept {
    if (cudaStreamSynchronize(stream_) != cudaSuccess) static_cast<void>(cudaGetLastError());
  }
  /// Makes all work that is enqueued after this call wait for the event. The host does not wait.
  void begin_after(const Event& event) const;

 private:
  cudaStream_t stream_ = nullptr;
};

/// Marks a point in a CUDA stream's work, and records when the stream reached that point.
class Event {
 public:
  Event() { check(cudaEventCreate(&event_)); }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  ~Event() {
    if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
  }

  cudaEvent_t get() const { return event_; }
  void record(const CudaStream& stream) { check(cudaEventRecord(event_, stream.get())); }
  /// Waits until the CUDA stream has passed the event.
  void wait() const { check(cudaEventSynchronize(event_)); }
  /// Returns the milliseconds from `earlier` to this event by the device's clock. Call it only
  /// after the CUDA streams have passed both events.
  double ms_since(const Event& earlier) const {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, earlier.event_, event_));
    return double{ms};
  }

 private:
  cudaEvent_t event_ = nullptr;
};

inline void CudaStream::begin_after(const Event& event) const {
  check(cudaStreamWaitEvent(stream_, event.get(), 0));
}

/// The destructor waits for a CUDA stream, also after an exception. Declare a DrainAtEnd after the
/// memory that the stream's copies and kernels use. The destructor then waits for them before the
/// memory is freed.
class DrainAtEnd {
 public:
  explicit DrainAtEnd(const CudaStream& stream) : stream_(stream) {}
  DrainAtEnd(const DrainAtEnd&) = delete;
  DrainAtEnd& operator=(const DrainAtEnd&) = delete;
  ~DrainAtEnd() { stream_.drain(); }

 private:
  const CudaStream& stream_;
};

/// A CUDA graph: work that is recorded once and then enqueued as a whole. The pauses between its
/// kernels are shorter than between kernels that are launched one by one.
class Graph {
 public:
  /// Calls `enqueue` and records the work that it puts into the CUDA stream. The work does not run
  /// yet.
  template <class Enqueue>
  Graph(const CudaStream& stream, const Enqueue& enqueue) {
    // During a thread-local capture other threads may allocate memory.
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
    cudaGraph_t graph = nullptr;
    try {
      enqueue();
    } catch (...) {
      static_cast<void>(cudaStreamEndCapture(stream.get(), &graph));
      if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
      static_cast<void>(cudaGetLastError());  // the exception reports the failure
      throw;
    }
    check(cudaStreamEndCapture(stream.get(), &graph));
    const cudaError_t code = cudaGraphInstantiate(&graph_, graph);
    static_cast<void>(cudaGraphDestroy(graph));
    check(code);
  }
  Graph(Graph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  Graph& operator=(Graph&&) = delete;
  ~Graph() {
    if (graph_ != nullptr) static_cast<void>(cudaGraphExecDestroy(graph_));
  }

  void launch(const CudaStream& stream) const { check(cudaGraphLaunch(graph_, stream.get())); }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace starling::gpu
