// SPDX-License-Identifier: Apache-2.0
// Makes the shadows of the rows of a corpus and of the queries of a batch: see shadow.hpp.
#pragma once

#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/vectors/corpus/panels.hpp"
#include "starling/gpu/vectors/corpus/shadow.hpp"

namespace starling::gpu {

/// Enqueued only. Writes the shadows of all rows of `corpus` to the arrays of `shadow`. These
/// arrays must be writable, although their pointers are to const. `halves` and `norms` are padded
/// to whole tiles. For the inner product the center is 0.
void make_shadow_async(const PanelsView& corpus, std::uint32_t rows, bool is_dot,
                       const ShadowView& shadow, const CudaStream& stream);

/// Enqueued only. Makes the shadows of `count` queries with the center and the scale of the corpus.
/// `components` is [count][dimension] on the device. Writes `halves` in the order of
/// shadow_place(), and `queries` [query]. Both are padded to whole tiles.
void make_query_shadows_async(const float* components, std::uint32_t count, std::uint32_t dimension,
                              const ShadowView& corpus, std::uint16_t* halves, ShadowQuery* queries,
                              const CudaStream& stream);

}  // namespace starling::gpu
