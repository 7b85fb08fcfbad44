// SPDX-License-Identifier: Apache-2.0
// The entry to the CPU backend: an Engine and a VectorSearcher that use threads and SIMD and run on
// any machine. apps/, tests/ and programs that embed Starling include it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "starling/knn/engine/engine.hpp"
#include "starling/knn/vectors/searcher.hpp"
#include "starling/knn/words/space.hpp"

namespace starling::cpu {

struct EngineOptions {
  SpaceOptions space{};  ///< resolution_m and origin are not used: the processor rounds
  unsigned threads = 0;  ///< threads that compute a tick; 0: one per core. Never changes an answer.
  bool pin_threads = false;  ///< binds each thread to its own core, if there are several threads
};

/// Makes an engine for the space. Its name is "cpu". Throws std::invalid_argument if the dimension
/// of a vector space is out of range.
std::unique_ptr<Engine> make_engine(const EngineOptions& options);

/// Makes a searcher on `threads` threads; 0: one per core. Its name is "cpu". The number of threads
/// never changes an answer. It supports only SearchMethod::automatic; a search by another method
/// throws std::invalid_argument.
///
/// Memory: a copy of the corpus, with its rows rounded up to a multiple of at most 64. For each
/// thread, a copy of at most 128 queries, with 2 k + 200 keys of 8 bytes for each: 6.5 MB at the
/// largest k and dimension. One more copy of 128 queries for all threads together.
std::unique_ptr<VectorSearcher> make_vector_searcher(unsigned threads);

/// Returns the name of the instruction set that searches use on this machine. It is chosen at run
/// time.
std::string_view simd_target();

}  // namespace starling::cpu
