// SPDX-License-Identifier: Apache-2.0
// The instructions by which tensor cores multiply tiles in half precision and sum in float32:
// copies to shared memory that bypass registers, loads of fragments from shared memory, and
// products. A tile in shared memory has rows of 64 bytes (32 halves). The four 16-byte pieces of a
// row are permuted. So when a warp reads a piece of eight rows at once, it touches all banks.
// filter_kernel.cuh includes this file.
#pragma once

#include <cstdint>

namespace starling::gpu {

inline constexpr unsigned tensor_row_bytes = 64;

/// Returns the byte offset of a 16-byte piece of a row from the beginning of the tile.
__device__ __forceinline__ unsigned tensor_offset(unsigned row, unsigned piece) {
  return row * tensor_row_bytes + ((piece ^ (row >> 1 & 3)) << 4);
}

__device__ __forceinline__ unsigned shared_address(const void* at) {
  return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

/// Copies 16 bytes to shared memory; the L1 cache does not keep them. `to` is an address in shared
/// memory.
__device__ __forceinline__ void copy_piece_async(unsigned to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most `pending` of this thread's groups of copies are unfinished.
template <int pending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/// Loads four 8 by 8 matrices of halves. Lane l passes the address of row l % 8 of matrix l / 8.
/// Called by a whole warp.
__device__ __forceinline__ void load_fragments(unsigned (&into)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(into[0]), "=r"(into[1]), "=r"(into[2]), "=r"(into[3])
               : "r"(address)
               : "memory");
}

/// Adds the matrix product a * b to `sums`; `sums` is 16 by 8, `a` is 16 by 16, `b` is 16 by 8. The
/// registers of all lanes together hold the matrices. Called by a whole warp.
__device__ __forceinline__ void multiply(float (&sums)[4], const unsigned (&a)[4], unsigned b0,
                                         unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace starling::gpu
