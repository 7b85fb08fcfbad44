// What the device does at most, measured: the floor that benchmarks hold searches of vectors to.
#pragma once

#include <cstdint>

#include "gpu/device/memory.hpp"
#include "gpu/device/stream.hpp"
#include "knn/vectors/searcher.hpp"

namespace starling::gpu {

/// Takes `bytes_max` of the memory for a moment, and 2 GiB at most; waits for the stream. With less
/// than a few times the second-level cache it is the cache that is measured.
DeviceRates measure_rates(DeviceMemory& memory, std::uint64_t bytes_max, const Stream& stream);

}  // namespace starling::gpu
