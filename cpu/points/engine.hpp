// The Engine on CPU threads and SIMD: what Starling runs on without a GPU, and inside programs that
// embed it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "knn/engine/engine.hpp"
#include "knn/words/lattice.hpp"

namespace starling::cpu {

struct EngineOptions {
  Space space = Space::planar2;
  unsigned threads = 0;      ///< that compute a tick; 0: one per core. Never changes an answer.
  bool pin_threads = false;  ///< each of them on a core of its own, if they are more than one

  // Of Space::vector:
  std::uint32_t dimension = 0;  ///< 1 to dimension_max
  Metric metric = Metric::l2;
};

/// An engine for the space. Throws std::invalid_argument if a vector space has no dimension that it
/// may have.
std::unique_ptr<Engine> make_engine(const EngineOptions& options);

/// The instruction set that the search runs on here, chosen at run time.
std::string_view simd_target();

}  // namespace starling::cpu
