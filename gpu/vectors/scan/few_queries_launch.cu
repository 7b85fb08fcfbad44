// SPDX-License-Identifier: Apache-2.0
// Chooses the passes over the panels. If no warp has more than one panel, there is one cooperative
// launch. Otherwise there is one launch, with or without a sample before it: see
// few_queries_launch.hpp. workspace.cpp calls it.
#include <bit>

#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/corpus/recipe_choice.hpp"
#include "starling/gpu/vectors/scan/few_queries_kernel.cuh"
#include "starling/gpu/vectors/scan/few_queries_launch.hpp"

namespace starling::gpu {
namespace {

/// The kernel is compiled for 2 to 16 queries only for the two recipes that nearly all searches
/// use.
constexpr std::uint32_t queries_max = 16;
/// The most shared bytes of a block: about a third of the 227 KB that a multiprocessor has for its
/// three blocks.
constexpr std::size_t shared_bytes_max = std::size_t{75} << 10;

/// A sample is taken if there are at least panels_of_warp_min panels for each warp. The sample has
/// 1 / share of the panels, but at least rows_of_slot_min rows for each slot and at most one panel
/// for each warp.
struct SampleChoice {
  static constexpr std::uint32_t panels_of_warp_min = 2;
  static constexpr std::uint32_t share = 32;
  static constexpr std::uint32_t rows_of_slot_min = 8;
};

template <FewQueriesPass pass, Recipe recipe, unsigned queries>
unsigned resident_few_queries_blocks(const VectorScan& scan) {
  return resident_blocks(few_queries_kernel<pass, recipe, queries>, few_queries_threads,
                         few_queries_shared_bytes<queries>(scan.corpus.group_count));
}

template <FewQueriesPass pass, Recipe recipe, unsigned queries>
void launch(const VectorScan& scan, unsigned blocks_max, const CudaStream& stream) {
  const unsigned blocks = std::min(scan.panel_count, blocks_max);
  const PanelWalk walk = panel_walk(scan.panel_count, blocks * few_queries_warps);
  traced_launch(few_queries_kernel<pass, recipe, queries>,
                {.blocks = blocks,
                 .threads = few_queries_threads,
                 .shared_bytes = few_queries_shared_bytes<queries>(scan.corpus.group_count),
                 .is_cooperative = pass == FewQueriesPass::together},
                stream, scan, walk);
}

/// Returns the number of blocks of a cooperative launch. Returns 0 if there are more panels than
/// warps that run at once, or if the device has no cooperative launches. Also returns 0 if there
/// are too many slots for registers, because each block would then take too long to compute bounds.
template <Recipe recipe, unsigned queries>
unsigned blocks_together(const VectorScan& scan) {
  if (!has_cooperative_launch() || scan.lists.slot_count > bound_slots_held) return 0;
  const unsigned blocks =
      resident_few_queries_blocks<FewQueriesPass::together, recipe, queries>(scan);
  return scan.panel_count <= blocks * few_queries_warps ? blocks : 0;
}

/// Returns the number of panels in a sample, or 0 if a sample would not save time.
std::uint32_t sample_size(const VectorScan& scan) {
  const std::uint32_t warps = multiprocessor_count() * few_queries_blocks * few_queries_warps;
  if (scan.panel_count < SampleChoice::panels_of_warp_min * warps) return 0;
  const std::uint32_t least = SampleChoice::rows_of_slot_min * scan.lists.slot_count / panel_rows;
  const std::uint32_t wanted = std::max(scan.panel_count / SampleChoice::share, least);
  return std::min(wanted, warps);
}

template <Recipe recipe, unsigned queries>
void launch(const VectorScan& scan, const CudaStream& stream) {
  if (const unsigned blocks = blocks_together<recipe, queries>(scan); blocks > 0)
    return launch<FewQueriesPass::together, recipe, queries>(scan, blocks, stream);
  const std::uint32_t sampled = sample_size(scan);
  if (sampled == 0) {
    const auto blocks = resident_few_queries_blocks<FewQueriesPass::alone, recipe, queries>(scan);
    return launch<FewQueriesPass::alone, recipe, queries>(scan, blocks, stream);
  }
  const auto blocks =
      resident_few_queries_blocks<FewQueriesPass::after_sample, recipe, queries>(scan);
  launch<FewQueriesPass::sample, recipe, queries>(
      scan,
      std::min(blocks_for(sampled, few_queries_warps),
               resident_few_queries_blocks<FewQueriesPass::sample, recipe, queries>(scan)),
      stream);
  lower_bounds_async(scan.lists, scan.query_count, stream);
  launch<FewQueriesPass::after_sample, recipe, queries>(scan, blocks, stream);
}

template <Recipe recipe>
void launch(const VectorScan& scan, const CudaStream& stream) {
  if constexpr (has_filter(recipe)) {
    switch (scan.queries.width) {
      case 2:
        return launch<recipe, 2>(scan, stream);
      case 4:
        return launch<recipe, 4>(scan, stream);
      case 8:
        return launch<recipe, 8>(scan, stream);
      case 16:
        return launch<recipe, 16>(scan, stream);
      default:
        break;
    }
  }
  launch<recipe, 1>(scan, stream);
}

}  // namespace

std::uint32_t few_queries_width(Recipe recipe, std::uint32_t query_count, std::uint32_t dimension) {
  if (query_count > (has_filter(recipe) ? queries_max : 1)) return 0;
  const std::uint32_t width = std::bit_ceil(query_count);
  const std::size_t bytes =
      std::size_t{group_count_of(dimension) + groups_ahead} * width * sizeof(float4);
  return bytes <= shared_bytes_max ? width : 0;
}

void lower_bounds_async(const CandidateLists& lists, std::uint32_t query_count,
                        const CudaStream& stream) {
  traced_launch(vector_bounds_kernel, {query_count, warp_lanes}, stream, lists);
}

void few_queries_scan_async(const VectorScan& scan, const CudaStream& stream) {
  with_recipe(scan.recipe, [&](auto recipe) { launch<decltype(recipe)::value>(scan, stream); });
}

}  // namespace starling::gpu
