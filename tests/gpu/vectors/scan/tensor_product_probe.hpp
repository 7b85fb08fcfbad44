// SPDX-License-Identifier: Apache-2.0
// Computes inner products of rows and queries with the tensor instructions that the filter uses.
// Called by tensor_product_test.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "starling/gpu/device/cuda_stream.hpp"

namespace starling::test {

/// Enqueues, for each tile, the inner products of its 16 rows with its 8 queries. The pointers are
/// device pointers to rows[tiles][16][length], queries[tiles][8][length] and
/// products[tiles][16][8]. `rows` and `queries` hold the bits of half-precision numbers. `length`
/// is a multiple of 16.
void tensor_products_async(const std::uint16_t* rows, const std::uint16_t* queries,
                           std::uint32_t tiles, std::uint32_t length, float* products,
                           bool in_groups, const gpu::CudaStream& stream);

}  // namespace starling::test
