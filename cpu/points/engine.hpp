// SPDX-License-Identifier: Apache-2.0
// The Engine for moving points on CPU threads and SIMD. cpu/backend.cpp makes it for users.
#pragma once

#include <memory>

#include "starling/knn/engine/engine.hpp"
#include "starling/knn/words/lattice.hpp"

namespace starling::cpu {

/// As cpu::EngineOptions (cpu/backend.hpp).
struct PointEngineOptions {
  Space space = Space::planar2;  ///< any but Space::vector
  unsigned threads = 0;
  bool pin_threads = false;
};

/// As cpu::make_engine, for a space that is not a vector space.
std::unique_ptr<Engine> make_point_engine(const PointEngineOptions& options);

}  // namespace starling::cpu
