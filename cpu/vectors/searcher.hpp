// The VectorSearcher on CPU threads and SIMD: every row of the corpus against every query, in
// blocks that stay in cache.
#pragma once

#include <memory>

#include "knn/vectors/searcher.hpp"

namespace starling::cpu {

/// A searcher called "cpu", on so many threads; 0: one per core. The number never changes an
/// answer. It supports SearchMethod::automatic alone; a search by another method throws
/// std::invalid_argument.
///
/// Memory: a copy of the corpus, its rows rounded up to a multiple of 64 at most. Per thread a copy
/// of 128 queries at most, however many are asked, with 2 k + 200 keys of 8 bytes each: 6.5 MB at
/// the largest k and dimension. And a copy of 128 queries for all threads.
std::unique_ptr<VectorSearcher> make_vector_searcher(unsigned threads);

}  // namespace starling::cpu
