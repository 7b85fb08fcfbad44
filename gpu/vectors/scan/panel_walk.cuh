// SPDX-License-Identifier: Apache-2.0
// How the warps of a scan for few queries share the panels of a corpus. few_queries_kernel.cuh and
// few_filter_kernel.cuh use it.
#pragma once

#include "starling/gpu/device/lane_group.cuh"
#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/vectors/scan/tile_walk.hpp"

namespace starling::gpu {

/// This many warps renew a query's bound; more warps would find the same bound.
inline constexpr std::uint32_t renewing_warps = 32;

/// Loads a group that is read once, without allocating it in the L1 cache.
__device__ __forceinline__ float4 read_once(const float4* from) {
  float4 value;
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
               : "l"(from));
  return value;
}

__device__ __forceinline__ uint4 read_once(const uint4* from) {
  uint4 value;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from));
  return value;
}

/// The order in which a warp visits panels. Warp w begins at panel w * first_step and goes on in
/// steps of `warp_step`, both modulo the panel count. Each panel of the scan is visited by exactly
/// one warp. first_step is coprime to the panel count, and far from 0 and from the panel count. So
/// the panels that are visited first are a sample of all panels, whatever the order of the rows is.
struct PanelWalk {
  std::uint32_t first_step = 0;  ///< step between the first panels of one warp and the next
  std::uint32_t warp_step = 0;   ///< step between two panels of a warp: first_step * warps % count
  std::uint32_t multiprocessors = 1;
};

/// Returns the turn of this warp, a number that differs among the warps of a block. PanelWalk
/// numbers the warps by turn: first the warps of turn 0 of all blocks, then those of turn 1, and so
/// on. So if there are fewer panels than warps, only warps of the last turns have no panel. Every
/// `multiprocessors`-th block runs on the same multiprocessor. Each of its four schedulers has
/// every fourth warp of a block. The turns are chosen so that the warps of each turn are spread
/// evenly over the schedulers.
__device__ __forceinline__ std::uint32_t turn_of_warp(std::uint32_t multiprocessors) {
  const std::uint32_t warp = threadIdx.x / warp_lanes;
  return (blockIdx.x / multiprocessors - warp) % 4 + warp / 4 * 4;
}

/// Returns the walk of `warps` warps, the warps of all blocks of a launch, over `panel_count`
/// panels.
inline PanelWalk panel_walk(std::uint32_t panel_count, std::uint32_t warps) {
  PanelWalk walk;
  walk.multiprocessors = multiprocessor_count();
  walk.first_step = walk_step(panel_count);
  walk.warp_step = static_cast<std::uint32_t>(std::uint64_t{walk.first_step} * warps % panel_count);
  return walk;
}

}  // namespace starling::gpu
