// SPDX-License-Identifier: Apache-2.0
// The kernel of the filter. It multiplies tiles of shadows on the tensor cores. Every row that may
// be within a query's bound becomes a candidate of that query. filter_launch.cu launches it.
#pragma once

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/vectors/corpus/filter_interval.cuh"
#include "starling/gpu/vectors/corpus/score.cuh"
#include "starling/gpu/vectors/scan/filter_scan.hpp"
#include "starling/gpu/vectors/scan/tensor_product.cuh"

namespace starling::gpu {

/// Eight warps share 128 rows and 128 queries. A thread has only 64 sums in registers, so two
/// blocks run on a multiprocessor: one block multiplies while the other picks candidates.
struct FilterShape {
  static constexpr unsigned threads = 256;
  static constexpr unsigned blocks_each = 2;  ///< blocks on a multiprocessor at once
  static constexpr unsigned warps = threads / warp_lanes;
  static constexpr unsigned rows = shadow_tile_rows;
  static constexpr unsigned queries = filter_queries;
  static constexpr unsigned stages = 4;
  /// Bytes in shared memory of one slice of a tile of 128 rows.
  static constexpr unsigned tile_bytes = 128 * tensor_row_bytes;
  static constexpr unsigned norm_slots = stages;
  /// The most candidates in a warp's HeldCandidates. The warp writes them once it has at least
  /// held_full.
  static constexpr unsigned held_max = 128;
  static constexpr unsigned held_full = 64;
};

/// The sums of a lane: four parts of 16 products each. In each part, lane l has the products of
/// rows l / 4 and l / 4 + 8 with queries 2 * (l % 4) and 2 * (l % 4) + 1 of each of four tiles of
/// eight queries. The index is [part][tile][2 * high + second]: `high` is 1 for row l / 4 + 8, and
/// `second` is 1 for the second query.
using FilterSums = float[4][4][4];

/// Each warp multiplies alone. The rows are divided in two and the queries in four, so each warp
/// has 64 rows and 32 queries.
struct WarpProduct {
  static constexpr bool is_of_group = false;
  static __device__ unsigned first_row(unsigned warp) { return warp / 4 * 64; }
  static __device__ unsigned first_query(unsigned warp) { return warp % 4 * 32; }
  /// The offset of a part, and of a tile of queries, from the warp's first row and first query.
  static constexpr __device__ unsigned row_of(unsigned part) { return part * 16; }
  static constexpr __device__ unsigned query_of(unsigned, unsigned tile) { return tile * 8; }
};

/// Four warps multiply together. They read shared memory without loads of fragments (Hopper only),
/// because the bandwidth of shared memory limits WarpProduct. The rows are divided in eight, and
/// each warp has 16 rows and all queries.
struct GroupProduct {
  static constexpr bool is_of_group = true;
  static __device__ unsigned first_row(unsigned warp) { return warp * 16; }
  static __device__ unsigned first_query(unsigned) { return 0; }
  static constexpr __device__ unsigned row_of(unsigned) { return 0; }
  static constexpr __device__ unsigned query_of(unsigned part, unsigned tile) {
    return part * 32 + tile * 8;
  }
};

struct FilterShared {
  ShadowQuery queries[FilterShape::queries];
  ShadowNorms norms[FilterShape::norm_slots][FilterShape::rows];
  float least[2][FilterShape::queries];  ///< [number of the tile % 2][query]: least_product()
  std::uint64_t held_pairs[FilterShape::warps][FilterShape::held_max];
  std::uint8_t held_queries[FilterShape::warps][FilterShape::held_max];
};

/// Up to this stride the query tile stays in shared memory. A query tile of larger stride is read
/// from the L2 cache again for each tile of rows, and these reads limit the speed.
inline constexpr std::uint32_t resident_stride_max = 256;

template <bool is_resident>
constexpr std::size_t filter_shared_bytes(std::uint32_t stride) {
  const std::size_t slices = stride / shadow_slice;
  const std::size_t tiles =
      is_resident ? slices + FilterShape::stages : 2 * std::size_t{FilterShape::stages};
  return tiles * FilterShape::tile_bytes + sizeof(FilterShared);
}

/// Copies slices of tiles of 128 rows to shared memory, one after another. Each thread copies two
/// pieces of a slice. Addresses are computed once for each tile, because an address takes as long
/// as many products.
struct SliceCopies {
  static_assert(FilterShape::tile_bytes == 2 * FilterShape::threads * 16);
  static constexpr unsigned half_bytes = FilterShape::tile_bytes / 2;
  const unsigned char* from = nullptr;  ///< this thread's first piece of the next slice
  /// Byte offset in a tile of this thread's first piece.
  unsigned place = tensor_offset(threadIdx.x / 4, threadIdx.x % 4);

  /// Continues with slice 0 of a tile that begins at `halves`.
  __device__ void begin_tile(const std::uint16_t* halves) {
    from = reinterpret_cast<const unsigned char*>(halves) + threadIdx.x * 16;
  }
  /// Copies the next slice to the tile at address `to`. Called by the whole block.
  __device__ __forceinline__ void copy_next_async(unsigned to) {
    copy_piece_async(to + place, from);
    copy_piece_async(to + place + half_bytes, from + half_bytes);
    from += FilterShape::tile_bytes;
  }
};

/// Adds the products of a slice to a warp's sums. `rows` and `queries` are the addresses in shared
/// memory of the warp's first row and first query.
__device__ __forceinline__ void multiply_slice(unsigned rows, unsigned queries, FilterSums& sums) {
  const unsigned lane = threadIdx.x % warp_lanes;
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    unsigned b[2][4];
#pragma unroll
    for (unsigned j = 0; j < 2; ++j)
      load_fragments(b[j], queries + tensor_offset(j * 16 + lane / 16 * 8 + lane % 8,
                                                   half * 2 + lane / 8 % 2));
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      unsigned a[4];
      load_fragments(a, rows + tensor_offset(i * 16 + lane % 16, half * 2 + lane / 16));
#pragma unroll
      for (unsigned j = 0; j < 4; ++j)
        multiply(sums[i][j], a, b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
  }
}

/// Does the same as multiply_slice() with four warps, for 64 rows and 128 queries. `rows` and
/// `queries` are the descriptors of the four warps' first row and first query. Returns before the
/// products are complete.
__device__ __forceinline__ void multiply_slice_async(std::uint64_t rows, std::uint64_t queries,
                                                     FilterSums& sums) {
  begin_group_products();
#pragma unroll
  for (unsigned half = 0; half < 2; ++half)
    group_multiply_async(sums, descriptor_after(rows, half * 32),
                         descriptor_after(queries, half * 32));
  commit_group_products();
}

/// A warp's buffer of candidates. The candidates passed a test with the largest error and norm of
/// their tile. write() tests each candidate again with the error and norm of its own row. Because
/// write() takes many candidates at once, the warp waits only once for their norms and for list
/// entries. `count` is the same in all lanes.
struct HeldCandidates {
  std::uint64_t* pairs;  ///< (product, row)
  std::uint8_t* queries;
  std::uint32_t count = 0;

  /// Tests each candidate with its own row's error and norm, appends the candidates that may be
  /// within the bound to the lists, and empties the buffer. Called by a whole warp.
  template <bool is_dot>
  __device__ __forceinline__ void write(const FilterScan& scan, const FilterShared& shared,
                                        std::uint32_t first_query) {
    __syncwarp();
    for (std::uint32_t i = threadIdx.x % warp_lanes; i < count; i += warp_lanes) {
      const auto row = static_cast<std::uint32_t>(pairs[i]);
      if (row >= scan.row_end || scan.first_row + row == scan.first_self + first_query + queries[i])
        continue;
      const float product = __uint_as_float(static_cast<std::uint32_t>(pairs[i] >> 32));
      const ShadowQuery& query = shared.queries[queries[i]];
      const ShadowNorms norms = scan.corpus.norms[row];
      const float value = is_dot ? product : __fsub_rn(product, norms.half_norm);
      if (value <
          least_product<is_dot>(scan.limits, query, norms.error, norm_above(norms.half_norm)))
        continue;
      const std::uint32_t to = first_query + queries[i];
      scan.keys[to * scan.room + atomicAdd(scan.counts + to, 1u)] =
          key_of(score_above<is_dot>(scan.limits, query, norms, product), scan.first_row + row);
    }
    __syncwarp();
    count = 0;
  }
};

/// Returns values[at / 4][at % 4]. `at` is a run-time value; selecting in four steps keeps the
/// values in registers.
__device__ __forceinline__ float value_at(const float (&values)[4][4], unsigned at) {
  float fours[4];
#pragma unroll
  for (unsigned j = 0; j < 4; ++j) {
    const float low = (at & 1) != 0 ? values[j][1] : values[j][0];
    const float high = (at & 1) != 0 ? values[j][3] : values[j][2];
    fours[j] = (at & 2) != 0 ? high : low;
  }
  const float low = (at & 4) != 0 ? fours[1] : fours[0];
  const float high = (at & 4) != 0 ? fours[3] : fours[2];
  return (at & 8) != 0 ? high : low;
}

/// Picks candidates from a warp's part of the tile into `held`. `rows` and `queries` are the
/// indices of the warp's first row and first query in the tile. Called by a whole warp.
template <class Product, bool is_dot>
__device__ __forceinline__ void pick(const FilterScan& scan, const FilterShared& shared,
                                     const FilterSums& sums, const ShadowNorms* norms,
                                     const float* least, unsigned rows, unsigned queries,
                                     std::uint32_t first_query, std::uint32_t first_row,
                                     HeldCandidates& held) {
  const unsigned lane = threadIdx.x % warp_lanes;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    unsigned near = 0;  // bit 4 * j + e: sums[i][j][e] belongs to a candidate
    float half_norms[2];
#pragma unroll
    for (unsigned high = 0; high < 2; ++high)
      half_norms[high] = norms[rows + Product::row_of(i) + high * 8 + lane / 4].half_norm;
#pragma unroll
    for (unsigned j = 0; j < 4; ++j) {
      const float2 two = *reinterpret_cast<const float2*>(least + queries +
                                                          Product::query_of(i, j) + lane % 4 * 2);
#pragma unroll
      for (unsigned e = 0; e < 4; ++e) {
        const float sum = sums[i][j][e];
        if ((is_dot ? sum : __fsub_rn(sum, half_norms[e / 2])) >= (e % 2 == 0 ? two.x : two.y))
          near |= 1u << (j * 4 + e);
      }
    }
    for (;;) {
      const unsigned lanes = __ballot_sync(all_lanes, near != 0);
      if (lanes == 0) break;
      const auto more = static_cast<unsigned>(__popc(lanes));
      if (held.count + more > FilterShape::held_max) held.write<is_dot>(scan, shared, first_query);
      if (near != 0) {
        const unsigned number = static_cast<unsigned>(__ffs(static_cast<int>(near))) - 1;
        near &= near - 1;
        const unsigned at = held.count + static_cast<unsigned>(__popc(lanes & ((1u << lane) - 1)));
        const unsigned row = rows + Product::row_of(i) + (number >> 1 & 1) * 8 + lane / 4;
        held.pairs[at] =
            std::uint64_t{__float_as_uint(value_at(sums[i], number))} << 32 | (first_row + row);
        held.queries[at] = static_cast<std::uint8_t>(queries + Product::query_of(i, number >> 2) +
                                                     lane % 4 * 2 + (number & 1));
      }
      held.count += more;
    }
  }
  if (held.count >= FilterShape::held_full) held.write<is_dot>(scan, shared, first_query);
}

/// Takes all rows as candidates, in the first phase. Row r of the tile at position p goes to index
/// p * 128 + r of the list. Entries without a row get ~0.
template <class Product, bool is_dot>
__device__ __forceinline__ void take_all(const FilterScan& scan, const FilterShared& shared,
                                         const FilterSums& sums, const ShadowNorms* norms,
                                         unsigned rows, unsigned queries, std::uint32_t first_query,
                                         std::uint32_t first_row, std::uint32_t position) {
  const unsigned lane = threadIdx.x % warp_lanes;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i)
#pragma unroll
    for (unsigned j = 0; j < 4; ++j)
#pragma unroll
      for (unsigned e = 0; e < 2; ++e) {
        const unsigned query = queries + Product::query_of(i, j) + lane % 4 * 2 + e;
        if (first_query + query >= scan.query_count) continue;
        const ShadowQuery shadow = shared.queries[query];
        std::uint64_t* keys = scan.keys + (first_query + query) * scan.room +
                              std::size_t{position} * FilterShape::rows;
#pragma unroll
        for (unsigned high = 0; high < 2; ++high) {
          const unsigned row = rows + Product::row_of(i) + high * 8 + lane / 4;
          const std::uint32_t number = scan.first_row + first_row + row;
          const bool is_in =
              first_row + row < scan.row_end && number != scan.first_self + first_query + query;
          keys[row] = is_in ? key_of(score_above<is_dot>(scan.limits, shadow, norms[row],
                                                         sums[i][j][high * 2 + e]),
                                     number)
                            : ~std::uint64_t{0};
        }
      }
}

/// One phase of the filter: multiplies the shadows of the phase's rows and queries, and writes
/// candidates to scan.keys and scan.counts. The first phase writes to fixed entries and does not
/// count. Grid: query_tiles * splits blocks. Block b has query tile b % query_tiles and every
/// splits-th position of the phase. The slices of all tiles of a block form one sequence: while the
/// candidates of one tile are picked, the slices of the next tile are being copied. Shared bytes:
/// filter_shared_bytes().
template <class Product, bool is_dot, bool is_first, bool is_resident>
__global__ void __launch_bounds__(FilterShape::threads, FilterShape::blocks_each)
    vector_filter_kernel(const FilterScan scan, std::uint32_t query_tiles, std::uint32_t splits) {
  extern __shared__ __align__(1024) unsigned char shared_bytes[];
  static_assert(sizeof(FilterShared) % 512 == 0, "tiles begin at multiples of 512 bytes");
  using Shape = FilterShape;
  const std::uint32_t query_tile = blockIdx.x % query_tiles;
  const std::uint32_t split = blockIdx.x / query_tiles;
  if (!is_first && scan.undecided[query_tile] != 0) return;
  const std::uint32_t slices = scan.corpus.stride / shadow_slice;
  // Group products of the previous slice may still be reading the stage of that slice.
  constexpr unsigned copies_ahead = Product::is_of_group ? Shape::stages - 2 : Shape::stages - 1;
  constexpr unsigned stage_bytes = is_resident ? Shape::tile_bytes : 2 * Shape::tile_bytes;
  auto& shared = *reinterpret_cast<FilterShared*>(shared_bytes);
  const unsigned stages = shared_address(shared_bytes) + sizeof(FilterShared);
  const unsigned resident = stages + Shape::stages * stage_bytes;
  const std::uint32_t first_query = query_tile * Shape::queries;
  const std::uint16_t* query_halves =
      scan.query_halves + std::size_t{first_query} * scan.corpus.stride;

  const unsigned warp = threadIdx.x / warp_lanes;
  const unsigned warp_rows = Product::first_row(warp);
  const unsigned warp_queries = Product::first_query(warp);
  const unsigned query_slices = is_resident ? resident : stages + Shape::tile_bytes;
  const std::uint64_t row_descriptor = tile_descriptor(stages + warp / 4 * 64 * tensor_row_bytes);
  const std::uint64_t query_descriptor = tile_descriptor(query_slices);
  const std::uint32_t tiles = (scan.phase_end - scan.phase_begin - 1 - split) / splits + 1;
  const auto position_of = [&](std::uint32_t number) {  // position of the block's tile `number`
    return scan.phase_begin + split + number * splits;
  };
  // Adding the step between two positions is faster than a division.
  const auto modulo_tiles = [&](std::uint64_t tile) {
    return static_cast<std::uint32_t>(tile % scan.tile_count);
  };
  const std::uint32_t tile_step = modulo_tiles(std::uint64_t{splits} * scan.step);
  const auto tile_after = [&](std::uint32_t tile) {
    tile += tile_step;
    return tile < scan.tile_count ? tile : tile - scan.tile_count;
  };
  std::uint32_t tile = modulo_tiles(std::uint64_t{position_of(0)} * scan.step);
  ShadowTile bounds = scan.corpus.tiles[tile];

  std::uint32_t copy_tile = 0;
  std::uint32_t copy_slice = 0;
  std::uint32_t copied = tile;
  SliceCopies row_copies;
  SliceCopies query_copies;
  query_copies.begin_tile(query_halves);
  const auto copy_next_async = [&](unsigned into) {
    if (copy_tile < tiles) {
      if (copy_slice == 0) {
        const std::size_t row = std::size_t{copied} * Shape::rows;
        row_copies.begin_tile(scan.corpus.halves + row * scan.corpus.stride);
        if constexpr (!is_resident) query_copies.begin_tile(query_halves);
        if (threadIdx.x < Shape::rows * sizeof(ShadowNorms) / 16)
          copy_piece_async(
              shared_address(shared.norms[copy_tile % Shape::norm_slots]) + threadIdx.x * 16,
              reinterpret_cast<const unsigned char*>(scan.corpus.norms + row) + threadIdx.x * 16);
      }
      const unsigned stage = stages + into * stage_bytes;
      row_copies.copy_next_async(stage);
      if constexpr (!is_resident) query_copies.copy_next_async(stage + Shape::tile_bytes);
      if (++copy_slice == slices) {
        copy_slice = 0;
        ++copy_tile;
        copied = tile_after(copied);
      }
    }
    commit_copies();  // even without a copy, because the wait below counts commits
  };
  if constexpr (is_resident)
    for (std::uint32_t slice = 0; slice < slices; ++slice)
      query_copies.copy_next_async(resident + slice * Shape::tile_bytes);
#pragma unroll
  for (unsigned i = 0; i < copies_ahead; ++i) copy_next_async(i);
  if (threadIdx.x < Shape::queries)
    shared.queries[threadIdx.x] = scan.queries[first_query + threadIdx.x];

  HeldCandidates held = {shared.held_pairs[warp], shared.held_queries[warp], 0};
  unsigned at = 0;
  for (std::uint32_t number = 0; number < tiles; ++number, tile = tile_after(tile)) {
    float* least = shared.least[number % 2];
    if (!is_first && threadIdx.x < Shape::queries) {
      // No barrier: this thread itself wrote shared.queries[threadIdx.x].
      least[threadIdx.x] =
          first_query + threadIdx.x < scan.query_count
              ? least_product<is_dot>(scan.limits, shared.queries[threadIdx.x], bounds.error_max,
                                      norm_above(bounds.half_norm_max))
              : CUDART_INF_F;
      bounds = scan.corpus.tiles[tile_after(tile)];  // read ahead, so that no warp waits
    }
    FilterSums sums = {};
#pragma unroll 1
    for (std::uint32_t slice = 0; slice < slices; ++slice) {
      wait_for_copies<copies_ahead - 1>();
      if constexpr (Product::is_of_group) {
        show_copies_to_group_products();
        wait_for_group_products<1>();
      }
      // This slice has arrived, and no thread reads the stage that is filled next.
      __syncthreads();
      copy_next_async((at + copies_ahead) % Shape::stages);
      const unsigned stage = at * stage_bytes;
      const unsigned query_slice = is_resident ? slice * Shape::tile_bytes : stage;
      if constexpr (Product::is_of_group)
        multiply_slice_async(descriptor_after(row_descriptor, stage),
                             descriptor_after(query_descriptor, query_slice), sums);
      else
        multiply_slice(stages + stage + warp_rows * tensor_row_bytes,
                       query_slices + query_slice + warp_queries * tensor_row_bytes, sums);
      at = (at + 1) % Shape::stages;
    }
    if constexpr (Product::is_of_group) wait_for_sums(sums);
    const ShadowNorms* norms = shared.norms[number % Shape::norm_slots];
    if constexpr (is_first)
      take_all<Product, is_dot>(scan, shared, sums, norms, warp_rows, warp_queries, first_query,
                                tile * Shape::rows, position_of(number));
    else
      pick<Product, is_dot>(scan, shared, sums, norms, least, warp_rows, warp_queries, first_query,
                            tile * Shape::rows, held);
  }
  held.write<is_dot>(scan, shared, first_query);
}

}  // namespace starling::gpu
