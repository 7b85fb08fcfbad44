// SPDX-License-Identifier: Apache-2.0
// The Engine for moving points on an NVIDIA GPU. Its answers are the same as every other engine's,
// byte for byte. gpu/backend.cpp makes it for users; tests make it with injected faults.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "starling/gpu/points/fault_injection.hpp"
#include "starling/gpu/points/small_work.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/words/lattice.hpp"

namespace starling::gpu {

/// The members mean the same as in EngineOptions (gpu/backend.hpp).
struct PointEngineOptions {
  Space space = Space::planar2;  ///< any but Space::vector
  int device = 0;
  std::uint64_t memory_bytes_max = std::numeric_limits<std::uint64_t>::max();
  SmallWork small{};
};

/// Makes an engine for moving points. `faults` says at which stage ticks are made to fail. If
/// `faults` is null, no tick is made to fail. Throws DeviceError (gpu/device/check.hpp) if the
/// device does not exist.
std::unique_ptr<Engine> make_point_engine(const PointEngineOptions& options,
                                          std::shared_ptr<const FaultInjection> faults = nullptr);

}  // namespace starling::gpu
