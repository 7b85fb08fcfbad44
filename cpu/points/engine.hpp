// SPDX-License-Identifier: Apache-2.0
// The Engine for moving points on CPU threads and SIMD. cpu/backend.cpp calls make_point_engine.
#pragma once

#include <memory>

#include "starling/knn/engine/engine.hpp"
#include "starling/knn/words/lattice.hpp"

namespace starling::cpu {

/// See cpu::EngineOptions (cpu/backend.hpp) for the meaning of the members.
struct PointEngineOptions {
  Space space = Space::planar2;  ///< any but Space::vector
  unsigned threads = 0;
  bool pin_threads = false;
};

/// Makes the engine for a space that is not a vector space. See cpu::make_engine.
std::unique_ptr<Engine> make_point_engine(const PointEngineOptions& options);

}  // namespace starling::cpu
