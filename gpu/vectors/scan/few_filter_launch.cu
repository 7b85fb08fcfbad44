// SPDX-License-Identifier: Apache-2.0
// Chooses the passes over the panels: one cooperative launch if no warp has more than one panel,
// else a sample and then all panels. Scores the candidates afterwards: see few_filter_launch.hpp.
#include <bit>

#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/scan/few_filter_kernel.cuh"
#include "starling/gpu/vectors/scan/few_filter_launch.hpp"
#include "starling/gpu/vectors/scan/few_queries_launch.hpp"
#include "starling/gpu/vectors/scan/few_rescore_kernel.cuh"

namespace starling::gpu {
namespace {

constexpr std::uint32_t queries_max = 32;
/// The most shared bytes of a block: a third of what a multiprocessor has for its three blocks.
constexpr std::size_t shared_bytes_max = std::size_t{75} << 10;

/// The sample has 1 / share of the panels, but at least rows_of_slot_min rows for each slot and at
/// most one panel for each warp.
struct SampleSize {
  static constexpr std::uint32_t share = 32;
  static constexpr std::uint32_t rows_of_slot_min = 8;
};

/// Returns the number of tiles of eight queries: 1, 2 or 4, because the kernel is compiled for
/// these numbers.
unsigned tiles_of(std::uint32_t query_count) {
  return std::bit_ceil(blocks_for(query_count, 8));
}

template <FewFilterPass pass, bool is_dot, unsigned query_tiles>
void launch(const FewFilterScan& scan, unsigned blocks, const CudaStream& stream) {
  const auto kernel = few_filter_kernel<pass, is_dot, query_tiles>;
  const std::size_t shared_bytes = few_filter_shared_bytes(query_tiles, scan.filter.corpus.stride);
  allow_shared_bytes(kernel);
  traced_launch(kernel,
                {.blocks = blocks,
                 .threads = FewFilterShape::threads,
                 .shared_bytes = shared_bytes,
                 .is_cooperative = pass == FewFilterPass::together},
                stream, scan, panel_walk(scan.panel_count, blocks * FewFilterShape::warps));
}

template <FewFilterPass pass, bool is_dot, unsigned query_tiles>
unsigned resident(const FewFilterScan& scan) {
  return resident_blocks(few_filter_kernel<pass, is_dot, query_tiles>, FewFilterShape::threads,
                         few_filter_shared_bytes(query_tiles, scan.filter.corpus.stride));
}

template <bool is_dot, unsigned query_tiles>
void filter(const FewFilterScan& scan, const CudaStream& stream) {
  using Pass = FewFilterPass;
  traced_launch(few_filter_begin_kernel, {query_tiles * 8, block_threads}, stream, scan);
  const unsigned together = resident<Pass::together, is_dot, query_tiles>(scan);
  if (scan.panel_count <= together * FewFilterShape::warps &&
      scan.lists.slot_count <= bound_slots_held && has_cooperative_launch()) {
    launch<Pass::together, is_dot, query_tiles>(scan, together, stream);
  } else {
    const unsigned blocks = resident<Pass::all, is_dot, query_tiles>(scan);
    const std::uint32_t least = SampleSize::rows_of_slot_min * scan.lists.slot_count / panel_rows;
    const std::uint32_t sampled = std::max(scan.panel_count / SampleSize::share, least);
    launch<Pass::sample, is_dot, query_tiles>(
        scan,
        std::min({blocks_for(sampled, FewFilterShape::warps),
                  blocks_for(scan.panel_count, FewFilterShape::warps), blocks}),
        stream);
    lower_bounds_async(scan.lists, scan.filter.query_count, stream);
    launch<Pass::all, is_dot, query_tiles>(
        scan, std::min(blocks, blocks_for(scan.panel_count, FewFilterShape::warps)), stream);
  }
  const auto rescore = few_rescore_kernel<is_dot>;
  const std::size_t shared_bytes = few_rescore_shared_bytes(scan.filter.rows.group_count);
  allow_shared_bytes(rescore);
  traced_launch(rescore,
                {.blocks = dim3(scan.filter.query_count, FewRescoreShape::blocks),
                 .threads = FewRescoreShape::threads,
                 .shared_bytes = shared_bytes},
                stream, scan);
}

template <bool is_dot>
void filter(const FewFilterScan& scan, const CudaStream& stream) {
  switch (tiles_of(scan.filter.query_count)) {
    case 1:
      return filter<is_dot, 1>(scan, stream);
    case 2:
      return filter<is_dot, 2>(scan, stream);
    default:
      return filter<is_dot, 4>(scan, stream);
  }
}

}  // namespace

bool is_for_few_filter(std::uint32_t query_count, std::uint32_t dimension) {
  return query_count <= queries_max &&
         few_filter_shared_bytes(tiles_of(query_count), shadow_stride(dimension)) <=
             shared_bytes_max;
}

void few_filter_scan_async(FewFilterScan scan, bool is_dot, const CudaStream& stream) {
  scan.filter.limits = filter_limits(scan.filter.dimension);
  scan.panel_count = blocks_for(scan.filter.row_end, panel_rows);
  is_dot ? filter<true>(scan, stream) : filter<false>(scan, stream);
}

}  // namespace starling::gpu
