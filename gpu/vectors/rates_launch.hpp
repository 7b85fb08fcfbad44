// SPDX-License-Identifier: Apache-2.0
// Measures the limits of a device, against which benchmarks compare searches of vectors.
#pragma once

#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/knn/vectors/searcher.hpp"

namespace starling::gpu {

/// Takes `bytes_max` bytes of `memory`, but at most 2 GiB, until the function returns. Waits for
/// the CUDA stream. `bytes_max` should be several times the size of the L2 cache; otherwise the
/// read rate is that of the cache.
DeviceRates measure_rates(DeviceMemory& memory, std::uint64_t bytes_max, const CudaStream& stream);

}  // namespace starling::gpu
