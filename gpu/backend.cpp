// SPDX-License-Identifier: Apache-2.0
// Chooses the engine that serves a space (moving points or vectors), and the searcher for one
// device or several: see backend.hpp. In gpu/, only this file and backend.hpp include headers of
// both points/ and vectors/.
#include "starling/gpu/backend.hpp"

#include <cstddef>
#include <stdexcept>
#include <vector>

#include <cuda_runtime_api.h>

#include "starling/gpu/device/bound_to_device.hpp"
#include "starling/gpu/device/check.hpp"
#include "starling/gpu/points/engine.hpp"
#include "starling/gpu/vectors/device_searcher.hpp"
#include "starling/gpu/vectors/split_searcher.hpp"
#include "starling/gpu/vectors/store.hpp"
#include "starling/knn/vectors/ticks/engine.hpp"

namespace starling::gpu {
namespace {

std::unique_ptr<Engine> make_engine_of_vectors(const EngineOptions& options) {
  const BoundToDevice bound(options.device);
  return make_vector_engine({.dimension = options.space.dimension, .metric = options.space.metric},
                            make_vector_store({.dimension = options.space.dimension,
                                               .metric = options.space.metric,
                                               .device = options.device,
                                               .memory_bytes_max = options.memory_bytes_max}));
}

}  // namespace

std::unique_ptr<Engine> make_engine(const EngineOptions& options) {
  if (options.space.is_vector()) return make_engine_of_vectors(options);
  return make_point_engine({.space = options.space.space,
                            .device = options.device,
                            .memory_bytes_max = options.memory_bytes_max,
                            .small = options.small});
}

std::unique_ptr<VectorSearcher> make_vector_searcher(const VectorSearcherOptions& options) {
  return std::make_unique<DeviceSearcher>(options);
}

std::unique_ptr<VectorSearcher> make_vector_searcher(int device) {
  VectorSearcherOptions options;
  options.device = device;
  return make_vector_searcher(options);
}

std::unique_ptr<VectorSearcher> make_vector_searcher(std::span<const VectorSearcherOptions> devices,
                                                     const SplitOptions& options) {
  if (devices.size() == 1 && options.placement == RowPlacement::automatic)
    return make_vector_searcher(devices.front());
  return make_split_searcher(devices, options);
}

std::unique_ptr<VectorSearcher> make_vector_searcher(std::span<const int> devices) {
  std::vector<VectorSearcherOptions> options(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) options[i].device = devices[i];
  return make_vector_searcher(options);
}

void copy_from_device(void* to, const void* from, std::size_t bytes, int device) {
  if (bytes == 0) return;
  const BoundToDevice bound(device);
  cudaPointerAttributes known{};
  check(cudaPointerGetAttributes(&known, from));
  if (known.type == cudaMemoryTypeUnregistered)
    throw std::invalid_argument("from is not in memory of a CUDA device.");
  const cudaError_t copied = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cudaStreamLegacy);
  if (copied == cudaErrorInvalidValue)
    throw std::invalid_argument(
        "from has fewer bytes in the device's memory than are to be copied.");
  check(copied);
  check(cudaStreamSynchronize(cudaStreamLegacy));
}

}  // namespace starling::gpu
