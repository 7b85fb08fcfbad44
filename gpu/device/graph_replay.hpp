// SPDX-License-Identifier: Apache-2.0
// Replays kernels that every tick launches with the same arguments. The second launch with the same
// arguments is recorded as a CUDA graph. From then on the graph is launched, because the pauses
// between its kernels are shorter. The functions that build the grid and the tree use it.
#pragma once

#include <optional>

#include "starling/gpu/device/check.hpp"
#include "starling/gpu/device/cuda_stream.hpp"

namespace starling::gpu {

/// `Shape` holds every value that the kernels are launched with, and has operator==.
template <class Shape>
class Replay {
 public:
  /// Runs the kernels that `enqueue` launches in the CUDA stream. Launches the graph recorded for
  /// `shape` if there is one, and otherwise calls `enqueue`.
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
  // If a graph cannot be recorded, for example for lack of memory, run() calls `enqueue` instead.
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
