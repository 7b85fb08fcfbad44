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

/// Computes the same products with the instructions of four warps. A block is four warps. Its 64
/// rows and 128 queries are the rows and queries of one tile, padded with zeros.
__global__ void group_products_kernel(const std::uint16_t* rows, const std::uint16_t* queries,
                                      std::uint32_t length, float* products) {
  constexpr unsigned slice = 32;
  __shared__ __align__(512) std::uint16_t a[64 * slice];
  __shared__ __align__(512) std::uint16_t b[128 * slice];
  const auto fill = [&](std::uint16_t* to, unsigned room, const std::uint16_t* from, unsigned count,
                        std::uint32_t begin) {
    for (unsigned i = threadIdx.x; i < room * slice; i += blockDim.x) {
      const unsigned row = i / slice;
      const unsigned at = i % slice;
      to[gpu::tensor_offset(row, at / 8) / 2 + at % 8] =
          row < count ? from[(std::size_t{blockIdx.x} * count + row) * length + begin + at] : 0;
    }
  };
  float sums[4][4][4] = {};
  for (std::uint32_t begin = 0; begin < length; begin += slice) {
    fill(a, 64, rows, 16, begin);
    fill(b, 128, queries, 8, begin);
    gpu::show_copies_to_group_products();
    __syncthreads();
    gpu::begin_group_products();
    for (unsigned half = 0; half < 2; ++half)
      gpu::group_multiply_async(
          sums, gpu::descriptor_after(gpu::tile_descriptor(gpu::shared_address(a)), half * 32),
          gpu::descriptor_after(gpu::tile_descriptor(gpu::shared_address(b)), half * 32));
    gpu::commit_group_products();
    gpu::wait_for_sums(sums);
    __syncthreads();
  }
  if (threadIdx.x >= 32) return;
  float* to = products + std::size_t{blockIdx.x} * 128;
  for (unsigned i = 0; i < 4; ++i)
    to[(threadIdx.x / 4 + i / 2 * 8) * 8 + threadIdx.x % 4 * 2 + i % 2] = sums[0][0][i];
}

}  // namespace

void tensor_products_async(const std::uint16_t* rows, const std::uint16_t* queries,
                           std::uint32_t tiles, std::uint32_t length, float* products,
                           bool in_groups, const gpu::CudaStream& stream) {
  if (in_groups)
    group_products_kernel<<<tiles, 128, 0, stream.get()>>>(rows, queries, length, products);
  else
    tensor_products_kernel<<<tiles, 32, 0, stream.get()>>>(rows, queries, length, products);
  gpu::check_launch();
}

}  // namespace starling::test
