// The searcher of vectors on CPU threads.
#pragma once

#include <memory>

#include "knn/vector_searcher.hpp"

namespace starling::cpu {

/// `threads` 0: one per core. Never changes an answer.
std::unique_ptr<VectorSearcher> make_vector_searcher(unsigned threads);

}  // namespace starling::cpu
