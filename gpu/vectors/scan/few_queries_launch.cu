// Chooses the passes over the panels: all blocks together where no warp has more than one panel,
// else with a sample before or without. See vector_stream_launch.hpp; called by device_vectors.cpp.
#include <bit>

#include "gpu/device/launch_grid.cuh"
#include "gpu/vectors/scan/few_queries_kernel.cuh"
#include "gpu/vectors/scan/few_queries_launch.hpp"
#include "gpu/vectors/scan/tile_walk.hpp"

namespace starling::gpu {
namespace {

constexpr std::uint32_t queries_max = 16;
/// What the blocks of a multiprocessor share is 227 KB where it is largest.
constexpr std::size_t shared_bytes_max = std::size_t{75} << 10;

/// Panels a warp from which on a sample is worth its launch, and of how many panels one is taken.
struct SampleChoice {
  static constexpr std::uint32_t panels_of_warp_min = 2;
  static constexpr std::uint32_t share = 32;
  static constexpr std::uint32_t rows_of_slot_min = 8;
};

template <StreamPass pass, bool is_dot, unsigned queries>
unsigned resident_stream_blocks(const VectorScan& scan) {
  return resident_blocks(vector_stream_kernel<pass, is_dot, queries>, stream_threads,
                         stream_shared_bytes<queries>(scan.corpus.group_count));
}

template <StreamPass pass, bool is_dot, unsigned queries>
void launch(const VectorScan& scan, unsigned blocks_max, const Stream& stream) {
  const unsigned blocks = std::min(scan.panel_count, blocks_max);
  PanelWalk walk;
  walk.multiprocessors = multiprocessor_count();
  walk.first_step = walk_step(scan.panel_count);
  walk.warp_step = static_cast<std::uint32_t>(std::uint64_t{walk.first_step} * blocks *
                                              stream_warps % scan.panel_count);
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = stream_threads;
  config.dynamicSmemBytes = stream_shared_bytes<queries>(scan.corpus.group_count);
  config.stream = stream.get();
  config.attrs = &cooperative;
  config.numAttrs = pass == StreamPass::together ? 1 : 0;
  check(cudaLaunchKernelEx(&config, vector_stream_kernel<pass, is_dot, queries>, scan, walk));
}

/// Of blocks: 0 where panels are more than warps that run at once, or the device cannot run them
/// so. Bounds of more slots than registers hold would cost each block too much.
template <bool is_dot, unsigned queries>
unsigned blocks_together(const VectorScan& scan) {
  int device = 0;
  int is_able = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&is_able, cudaDevAttrCooperativeLaunch, device));
  if (is_able == 0 || scan.lists.slot_count > bound_slots_held) return 0;
  const unsigned blocks = resident_stream_blocks<StreamPass::together, is_dot, queries>(scan);
  return scan.panel_count <= blocks * stream_warps ? blocks : 0;
}

/// Of panels: 0 where there is to be none.
std::uint32_t sample_size(const VectorScan& scan) {
  const std::uint32_t warps = multiprocessor_count() * stream_blocks * stream_warps;
  if (scan.panel_count < SampleChoice::panels_of_warp_min * warps) return 0;
  const std::uint32_t least = SampleChoice::rows_of_slot_min * scan.lists.slot_count / panel_rows;
  const std::uint32_t wanted = std::max(scan.panel_count / SampleChoice::share, least);
  return std::min(wanted, warps);
}

template <bool is_dot, unsigned queries>
void launch(const VectorScan& scan, const Stream& stream) {
  if (const unsigned blocks = blocks_together<is_dot, queries>(scan); blocks > 0)
    return launch<StreamPass::together, is_dot, queries>(scan, blocks, stream);
  const std::uint32_t sampled = sample_size(scan);
  if (sampled == 0) {
    const auto blocks = resident_stream_blocks<StreamPass::alone, is_dot, queries>(scan);
    return launch<StreamPass::alone, is_dot, queries>(scan, blocks, stream);
  }
  const auto blocks = resident_stream_blocks<StreamPass::after_sample, is_dot, queries>(scan);
  launch<StreamPass::sample, is_dot, queries>(
      scan,
      std::min(blocks_for(sampled, stream_warps),
               resident_stream_blocks<StreamPass::sample, is_dot, queries>(scan)),
      stream);
  vector_bounds_kernel<<<scan.query_count, warp_lanes, 0, stream.get()>>>(scan.lists);
  check_launch();
  launch<StreamPass::after_sample, is_dot, queries>(scan, blocks, stream);
}

template <bool is_dot>
void launch(const VectorScan& scan, const Stream& stream) {
  switch (scan.queries.width) {
    case 1:
      return launch<is_dot, 1>(scan, stream);
    case 2:
      return launch<is_dot, 2>(scan, stream);
    case 4:
      return launch<is_dot, 4>(scan, stream);
    case 8:
      return launch<is_dot, 8>(scan, stream);
    default:
      return launch<is_dot, 16>(scan, stream);
  }
}

}  // namespace

std::uint32_t stream_width(std::uint32_t query_count, std::uint32_t dimension) {
  if (query_count > queries_max) return 0;
  const std::uint32_t width = std::bit_ceil(query_count);
  const std::size_t bytes =
      std::size_t{group_count_of(dimension) + groups_ahead} * width * sizeof(float4);
  return bytes <= shared_bytes_max ? width : 0;
}

void stream_scan_async(const VectorScan& scan, const Stream& stream) {
  scan.is_dot ? launch<true>(scan, stream) : launch<false>(scan, stream);
}

}  // namespace starling::gpu
