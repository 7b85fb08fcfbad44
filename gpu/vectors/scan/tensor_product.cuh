// SPDX-License-Identifier: Apache-2.0
// The instructions with which tensor cores multiply tiles in half precision and sum in float32:
// copies to shared memory that bypass registers, loads of fragments from shared memory, and
// products of one warp or (on Hopper) of four warps. A tile in shared memory has rows of 64 bytes
// (32 halves). The four 16-byte pieces of a row are permuted. So a warp that reads a piece of eight
// rows at once touches all banks. The kernels of both filters use these functions.
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

/// True where the instructions of a group of warps exist: in code for exactly sm_90a (Hopper).
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
inline constexpr bool has_group_product = true;
#else
inline constexpr bool has_group_product = false;
#endif

/// Describes a tile in shared memory to group_multiply_async(): rows of 64 bytes, permuted as
/// tensor_offset() says, in blocks of eight rows. A tile begins at a multiple of 512 bytes.
/// descriptor_after(..., 32) describes the second half of each row.
__device__ __forceinline__ std::uint64_t tile_descriptor(unsigned address) {
  constexpr std::uint64_t swizzle_64_bytes = std::uint64_t{2} << 62;
  constexpr std::uint64_t block_step = std::uint64_t{8 * tensor_row_bytes >> 4} << 32;
  return swizzle_64_bytes | block_step | std::uint64_t{1} << 16 | (address & 0x3ffff) >> 4;
}

/// Returns `descriptor` moved forward by `bytes`, which is a multiple of 16.
__device__ __forceinline__ std::uint64_t descriptor_after(std::uint64_t descriptor,
                                                          unsigned bytes) {
  return descriptor + (bytes >> 4);
}

/// Makes copies to shared memory that this thread has waited for visible to group_multiply_async().
/// Call it before the barrier that precedes the products.
__device__ __forceinline__ void show_copies_to_group_products() {
  if constexpr (has_group_product) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Begins to add the matrix product a * b to `sums`: a is 64 by 16, b is 16 by 128, given as the
/// rows of two tiles. Warp w of four has rows 16 w to 16 w + 15, and its sums are those of 16
/// products by multiply(). The sums may not be touched before wait_for_sums(). Called
/// by four whole warps.
__device__ __forceinline__ void group_multiply_async(float (&sums)[4][4][4], std::uint64_t a,
                                                     std::uint64_t b) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  float(&s)[64] = reinterpret_cast<float(&)[64]>(sums);
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, 1, 1, 1, 0, 0;"
      : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), "+f"(s[6]),
        "+f"(s[7]), "+f"(s[8]), "+f"(s[9]), "+f"(s[10]), "+f"(s[11]), "+f"(s[12]), "+f"(s[13]),
        "+f"(s[14]), "+f"(s[15]), "+f"(s[16]), "+f"(s[17]), "+f"(s[18]), "+f"(s[19]), "+f"(s[20]),
        "+f"(s[21]), "+f"(s[22]), "+f"(s[23]), "+f"(s[24]), "+f"(s[25]), "+f"(s[26]), "+f"(s[27]),
        "+f"(s[28]), "+f"(s[29]), "+f"(s[30]), "+f"(s[31]), "+f"(s[32]), "+f"(s[33]), "+f"(s[34]),
        "+f"(s[35]), "+f"(s[36]), "+f"(s[37]), "+f"(s[38]), "+f"(s[39]), "+f"(s[40]), "+f"(s[41]),
        "+f"(s[42]), "+f"(s[43]), "+f"(s[44]), "+f"(s[45]), "+f"(s[46]), "+f"(s[47]), "+f"(s[48]),
        "+f"(s[49]), "+f"(s[50]), "+f"(s[51]), "+f"(s[52]), "+f"(s[53]), "+f"(s[54]), "+f"(s[55]),
        "+f"(s[56]), "+f"(s[57]), "+f"(s[58]), "+f"(s[59]), "+f"(s[60]), "+f"(s[61]), "+f"(s[62]),
        "+f"(s[63])
      : "l"(a), "l"(b));
#else
  static_cast<void>(sums);
  static_cast<void>(a);
  static_cast<void>(b);
#endif
}

/// Orders earlier uses of registers before the next group_multiply_async().
__device__ __forceinline__ void begin_group_products() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

__device__ __forceinline__ void commit_group_products() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/// Waits until at most `pending` committed groups of products are unfinished.
template <int pending>
__device__ __forceinline__ void wait_for_group_products() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
#endif
}

/// Waits for all products. Afterwards `sums` may be read.
__device__ __forceinline__ void wait_for_sums(float (&sums)[4][4][4]) {
  wait_for_group_products<0>();
#pragma unroll
  for (unsigned i = 0; i < 64; ++i)
    asm volatile("" : "+f"(sums[i / 16][i / 4 % 4][i % 4])::"memory");
}

}  // namespace starling::gpu
