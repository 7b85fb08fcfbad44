// Starling's door to CPU threads and SIMD: an Engine and a VectorSearcher that run on any machine.
// Its users are apps/, tests/, and programs that embed Starling.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "starling/knn/engine/engine.hpp"
#include "starling/knn/vectors/searcher.hpp"
#include "starling/knn/words/space.hpp"

namespace starling::cpu {

struct EngineOptions {
  SpaceOptions space{};      ///< resolution_m and origin are not read: the processor rounds
  unsigned threads = 0;      ///< that compute a tick; 0: one per core. Never changes an answer.
  bool pin_threads = false;  ///< each of them on a core of its own, if they are more than one
};

/// An engine for the space, called "cpu". Throws std::invalid_argument if a vector space has no
/// dimension that it may have.
std::unique_ptr<Engine> make_engine(const EngineOptions& options);

/// A searcher called "cpu", on `threads` threads; 0: one per core. The number never changes an
/// answer. It supports SearchMethod::automatic alone; a search by another method throws
/// std::invalid_argument.
///
/// Memory: a copy of the corpus, its rows rounded up to a multiple of 64 at most. Per thread a copy
/// of 128 queries at most, however many are asked, with 2 k + 200 keys of 8 bytes each: 6.5 MB at
/// the largest k and dimension. And a copy of 128 queries for all threads.
std::unique_ptr<VectorSearcher> make_vector_searcher(unsigned threads);

/// The instruction set that searches run on here, chosen at run time.
std::string_view simd_target();

}  // namespace starling::cpu
