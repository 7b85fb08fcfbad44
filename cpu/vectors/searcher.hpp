// SPDX-License-Identifier: Apache-2.0
// The VectorSearcher on CPU threads and SIMD. It scores every row of the corpus for every query, in
// blocks that stay in cache. cpu/backend.cpp makes it for users.
#pragma once

#include <memory>

#include "starling/knn/vectors/searcher.hpp"

namespace starling::cpu {

/// As cpu::make_vector_searcher (cpu/backend.hpp).
std::unique_ptr<VectorSearcher> make_panel_searcher(unsigned threads);

}  // namespace starling::cpu
