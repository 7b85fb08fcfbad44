// Owners of CUDA streams and events. Move-only. There is no default stream in gpu/.
#pragma once

#include <utility>

#include <cuda_runtime_api.h>

#include "gpu/check.hpp"

namespace starling::gpu {

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;  // a stream serves as long as its owner
  ~Stream() {
    if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
  }

  cudaStream_t get() const { return stream_; }
  /// Until all that was enqueued is done.
  void wait() const { check(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A point in a stream's work, with its time.
class Event {
 public:
  Event() { check(cudaEventCreate(&event_)); }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  ~Event() {
    if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
  }

  void record(const Stream& stream) { check(cudaEventRecord(event_, stream.get())); }
  /// Milliseconds on the device's clock since `earlier`; both have passed.
  double ms_since(const Event& earlier) const {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, earlier.event_, event_));
    return double{ms};
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace starling::gpu
