// SPDX-License-Identifier: Apache-2.0
// The entry to the CPU backend: an Engine and a VectorSearcher that use threads and SIMD and run on
// any machine. apps/, tests/ and programs that embed Starling include it.
#pragma once

#ifdef STARLING_ONE_HEADER
#error "Include starling.hpp and the engine's own headers in different files: names are equal."
#endif
#define STARLING_ENGINE_HEADERS

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "starling/knn/engine/engine.hpp"
#include "starling/knn/vectors/searcher.hpp"
#include "starling/knn/words/space.hpp"

namespace starling::cpu {

struct EngineOptions {
  SpaceOptions space{};  ///< resolution_m and origin are not used: Processor rounds positions
  unsigned threads = 0;  ///< threads that compute a tick; 0: one per core. Never changes an answer.
  bool pin_threads = false;  ///< binds each thread to its own core, if there are several threads
};

/// Makes an engine for the space. Its name is "cpu". Throws std::invalid_argument if the dimension
/// of a vector space is out of range.
std::unique_ptr<Engine> make_engine(const EngineOptions& options);

/// Makes a searcher on `threads` threads; 0: one per core. Its name is "cpu". The number of threads
/// never changes an answer. The searcher supports only SearchMethod::automatic; a search by another
/// method throws std::invalid_argument.
///
/// Memory: a copy of the corpus, with up to 63 rows of padding. For each thread: a copy of at most
/// 128 queries and, for each query, 2 k + 200 keys of 8 bytes; that is 6.5 MB at the largest k and
/// dimension. For all threads together: one more copy of 128 queries.
///
/// If rows have enough components for a filter to save time, the searcher also keeps 2 bytes for
/// each component and 24 for each row; a search with a k too large for the filter, or with queries
/// that the filter leaves over, makes a second copy of the corpus. The filter's keys take up to
/// 12.6 MB a thread at the largest k.
///
/// A search by radius scores all rows, or finds rows of up to three components in a tree. It holds
/// lists of about 8 million entries of 20 bytes at a time and, for each thread, the matches in one
/// part of the rows (512 KB). The lists of four queries may be longer. If the searcher keeps
/// shadows, a search by radius makes the second copy of the corpus, too.
std::unique_ptr<VectorSearcher> make_vector_searcher(unsigned threads);

/// Returns the names of the instruction sets that this build has code for and this machine runs,
/// best first. The names are Highway's, such as AVX3 (AVX-512) or AVX2. If the build has plain C++
/// code, the last name is "portable".
std::vector<std::string_view> simd_targets();

/// Returns the instruction set that the backend uses: the first of simd_targets(), unless
/// use_simd_target has chosen another.
std::string_view simd_target();

/// Makes all engines and searchers of the process use the instruction set `name` of simd_targets(),
/// or the first of simd_targets() if `name` is "best". Every instruction set gives the same
/// answers. For benchmarks and tests; call it while no engine or searcher works. Throws
/// std::invalid_argument with a sentence if `name` is neither "best" nor in simd_targets().
void use_simd_target(std::string_view name);

}  // namespace starling::cpu
