// Products of rows as the filter's tensor instructions compute them.
#pragma once

#include <cstdint>
#include <span>

#include "starling/gpu/device/cuda_stream.hpp"

namespace starling::test {

/// rows [tile][16][length] and queries [tile][8][length], halves on the device; products
/// [tile][16][8]. Enqueued only; `length` a multiple of 16.
void tensor_products_async(const std::uint16_t* rows, const std::uint16_t* queries,
                           std::uint32_t tiles, std::uint32_t length, float* products,
                           const gpu::CudaStream& stream);

}  // namespace starling::test
