// The VectorSearcher on CPU threads and SIMD: every row of the corpus against every query, in
// blocks that stay in cache. cpu/backend.cpp makes it for users.
#pragma once

#include <memory>

#include "starling/knn/vectors/searcher.hpp"

namespace starling::cpu {

/// See make_vector_searcher in cpu/backend.hpp.
std::unique_ptr<VectorSearcher> make_panel_searcher(unsigned threads);

}  // namespace starling::cpu
