// SPDX-License-Identifier: Apache-2.0
// Computes products of rows with the tensor instructions that the filter uses, for
// tensor_product_test.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "starling/gpu/device/cuda_stream.hpp"

namespace starling::test {

/// Enqueues, for each tile, the products of its 16 rows with its 8 queries. All pointers are device
/// pointers: to rows[tile][16][length] and queries[tile][8][length], which hold the bits of halves,
/// and to products[tile][16][8]. `length` is a multiple of 16.
void tensor_products_async(const std::uint16_t* rows, const std::uint16_t* queries,
                           std::uint32_t tiles, std::uint32_t length, float* products,
                           const gpu::CudaStream& stream);

}  // namespace starling::test
