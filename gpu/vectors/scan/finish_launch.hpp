// SPDX-License-Identifier: Apache-2.0
// Turns the candidates of a scan into sorted lists, or shortens candidate lists between two parts
// of a corpus. workspace.cpp calls it.
#pragma once

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/vectors/corpus/panels.hpp"

namespace starling::gpu {

/// Enqueued only. Writes the k nearest candidates of each query to `neighbors`
/// [query_count][lists.k] on the device. If `neighbors` is null, only shortens each candidate list
/// to its k nearest, which makes room for another part of the corpus.
void finish_lists_async(const CandidateLists& lists, std::uint32_t query_count,
                        VectorNeighbor* neighbors, const CudaStream& stream);

}  // namespace starling::gpu
