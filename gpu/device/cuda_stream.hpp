// Owners of CUDA streams, events and graphs. Move-only. gpu/ never uses the default CUDA stream.
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
  CudaStream& operator=(CudaStream&&) = delete;  // a CUDA stream serves as long as its owner
  ~CudaStream() {
    if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
  }

  cudaStream_t get() const { return stream_; }
  /// Returns once all that was enqueued is done.
  void wait() const { check(cudaStreamSynchronize(stream_)); }
  /// False once it is.
  bool is_busy() const {
    const cudaError_t code = cudaStreamQuery(stream_);
    if (code != cudaErrorNotReady) {
      check(code);
      return false;
    }
    static_cast<void>(cudaGetLastError());  // an answer, not an error
    return true;
  }
  /// Waits and ignores errors: one was already reported, or the next checked call will report it.
  void drain() const noexcept {
    if (cudaStreamSynchronize(stream_) != cudaSuccess) static_cast<void>(cudaGetLastError());
  }
  /// What is enqueued from here on begins when the event has passed. The host does not wait.
  void begin_after(const Event& event) const;

 private:
  cudaStream_t stream_ = nullptr;
};

/// A point in a CUDA stream's work, with its time.
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
  /// Until it has passed.
  void wait() const { check(cudaEventSynchronize(event_)); }
  /// Milliseconds on the device's clock since `earlier`; both have passed.
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

/// Waits for a CUDA stream at the end of its scope, whichever way that is left. Declared after the
/// memory that copies and kernels read or write, so that it does not go before they are done.
class DrainAtEnd {
 public:
  explicit DrainAtEnd(const CudaStream& stream) : stream_(stream) {}
  DrainAtEnd(const DrainAtEnd&) = delete;
  DrainAtEnd& operator=(const DrainAtEnd&) = delete;
  ~DrainAtEnd() { stream_.drain(); }

 private:
  const CudaStream& stream_;
};

/// Work recorded once, to be enqueued whole: its kernels follow each other faster.
class Graph {
 public:
  /// Records what `enqueue` puts into the CUDA stream; nothing of it runs.
  template <class Enqueue>
  Graph(const CudaStream& stream, const Enqueue& enqueue) {
    // Of this thread alone: others may allocate meanwhile.
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
    cudaGraph_t graph = nullptr;
    try {
      enqueue();
    } catch (...) {
      static_cast<void>(cudaStreamEndCapture(stream.get(), &graph));
      if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
      static_cast<void>(cudaGetLastError());  // what the capture left is told by the exception
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
