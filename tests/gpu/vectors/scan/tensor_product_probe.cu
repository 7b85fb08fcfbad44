// SPDX-License-Identifier: Apache-2.0
// Defines the kernel and the launch of tensor_product_probe.hpp.
#include "starling/gpu/device/check.hpp"
#include "starling/gpu/vectors/scan/tensor_product.cuh"
#include "tests/gpu/vectors/scan/tensor_product_probe.hpp"

namespace starling::test {
namespace {

/// Computes the products of one tile, 16 rows by 8 queries, in each block. A block is one warp.
/// Each lane loads its fragments from global memory and writes four products.
__global__ void tensor_products_kernel(const std::uint16_t* rows, const std::uint16_t* queries,
                                       std::uint32_t length, float* products) {
  const unsigned row = threadIdx.x / 4;
  const unsigned column = threadIdx.x % 4 * 2;
  const std::uint16_t* a = rows + std::size_t{blockIdx.x} * 16 * length;
  const std::uint16_t* b = queries + std::size_t{blockIdx.x} * 8 * length;
  const auto pair = [](const std::uint16_t* at) {
    return static_cast<unsigned>(at[0]) | static_cast<unsigned>(at[1]) << 16;
  };
  float sums[4] = {};
  for (std::uint32_t k = column; k < length; k += 16) {
    const std::uint16_t* low = a + std::size_t{row} * length + k;
    const std::uint16_t* high = low + std::size_t{8} * length;
    const std::uint16_t* query = b + std::size_t{row} * length + k;
    const unsigned fragment[4] = {pair(low), pair(high), pair(low + 8), pair(high + 8)};
    gpu::multiply(sums, fragment, pair(query), pair(query + 8));
  }
  float* to = products + std::size_t{blockIdx.x} * 128;
  to[row * 8 + column] = sums[0];
  to[row * 8 + column + 1] = sums[1];
  to[(row + 8) * 8 + column] = sums[2];
  to[(row + 8) * 8 + column + 1] = sums[3];
}

}  // namespace

void tensor_products_async(const std::uint16_t* rows, const std::uint16_t* queries,
                           std::uint32_t tiles, std::uint32_t length, float* products,
                           const gpu::CudaStream& stream) {
  tensor_products_kernel<<<tiles, 32, 0, stream.get()>>>(rows, queries, length, products);
  gpu::check_launch();
}

}  // namespace starling::test
