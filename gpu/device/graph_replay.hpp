// Kernels that come tick after tick in the same shape: recorded the second time, replayed from then
// on, since those of a graph follow each other faster.
#pragma once

#include <optional>

#include "starling/gpu/device/check.hpp"
#include "starling/gpu/device/cuda_stream.hpp"

namespace starling::gpu {

/// A Shape says all that the kernels are launched with, and compares equal.
template <class Shape>
class Replay {
 public:
  /// Has `enqueue` put its kernels into the CUDA stream, or a record of them.
  template <class Enqueue>
  void run(const Shape& shape, const CudaStream& stream, const Enqueue& enqueue) {
    const bool is_again = shape == shape_;
    if (!is_again) {
      graph_.reset();
      is_tried_ = false;
    }
    shape_ = shape;
    if (is_again && !is_tried_) {
      is_tried_ = true;
      record(stream, enqueue);
    }
    if (!launch(stream)) enqueue();
  }

 private:
  // Where there is no memory for a graph, the kernels go into the CUDA stream one by one.
  template <class Enqueue>
  void record(const CudaStream& stream, const Enqueue& enqueue) {
    try {
      graph_.emplace(stream, enqueue);
    } catch (const DeviceError& error) {
      if (error.is_final()) throw;
    }
  }

  bool launch(const CudaStream& stream) {
    if (!graph_) return false;
    try {
      graph_->launch(stream);
    } catch (const DeviceError& error) {
      if (error.is_final()) throw;
      graph_.reset();
    }
    return graph_.has_value();
  }

  Shape shape_;
  bool is_tried_ = false;
  std::optional<Graph> graph_;
};

}  // namespace starling::gpu
