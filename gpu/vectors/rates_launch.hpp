// SPDX-License-Identifier: Apache-2.0
// Measures the two rates of a device (DeviceRates). Benchmarks compare searches of vectors with
// these rates. DeviceSearcher and selection_timing.cu call it.
#pragma once

#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/knn/vectors/searcher.hpp"

namespace starling::gpu {

/// Allocates `bytes_max` bytes from `memory`, but at most 2 GiB, and frees them before it returns.
/// Waits for the CUDA stream. `bytes_max` should be several times the size of the L2 cache;
/// otherwise the measured read rate is that of the cache.
DeviceRates measure_rates(DeviceMemory& memory, std::uint64_t bytes_max, const CudaStream& stream);

}  // namespace starling::gpu
