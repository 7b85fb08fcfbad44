// Candidates become lists.
#pragma once

#include "gpu/device/stream.hpp"
#include "gpu/vectors/corpus/panels.hpp"

namespace starling::gpu {

/// Enqueued only. `neighbors` [query_count][lists.k] on the device; null: only cuts the lists to
/// their k nearest, so that there is room for another part of the corpus.
void finish_lists_async(const CandidateLists& lists, std::uint32_t query_count,
                        VectorNeighbor* neighbors, const Stream& stream);

}  // namespace starling::gpu
