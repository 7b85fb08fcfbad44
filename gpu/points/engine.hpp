// The Engine for moving points on an NVIDIA GPU: the same answers as every other, byte for byte.
// gpu/backend.cpp makes it for users; tests make it with faults.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "starling/gpu/points/fault_injection.hpp"
#include "starling/gpu/points/small_work.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/words/lattice.hpp"

namespace starling::gpu {

/// As EngineOptions in gpu/backend.hpp.
struct PointEngineOptions {
  Space space = Space::planar2;  ///< any but Space::vector
  int device = 0;
  std::uint64_t memory_bytes_max = std::numeric_limits<std::uint64_t>::max();
  SmallWork small{};
};

/// Ticks fail as `faults` says; null: none is made to fail. Throws DeviceError (see
/// gpu/device/check.hpp), with a sentence, where there is no such device.
std::unique_ptr<Engine> make_point_engine(const PointEngineOptions& options,
                                          std::shared_ptr<const FaultInjection> faults = nullptr);

}  // namespace starling::gpu
