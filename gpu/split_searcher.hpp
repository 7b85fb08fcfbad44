// Several GPUs of one host as one VectorSearcher: each holds the corpus and answers a share of the
// queries, so that nothing is merged.
#pragma once

#include <memory>
#include <span>

#include "knn/vector_searcher.hpp"

namespace starling::gpu {

/// Over the devices of these CUDA numbers, at least one; one named twice has two shares, and no use
/// of them. Throws as make_vector_searcher(int).
std::unique_ptr<VectorSearcher> make_vector_searcher(std::span<const int> devices);

}  // namespace starling::gpu
