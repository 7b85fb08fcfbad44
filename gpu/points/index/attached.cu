// SPDX-License-Identifier: Apache-2.0
// Copies tags from the order of slots to the order of places, and computes ranks from event times:
// see attached.hpp.
#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/points/index/age_rank.cuh"
#include "starling/gpu/points/index/attached.hpp"

namespace starling::gpu {
namespace {

// One thread for each place. Reads `slots` and writes `tags_and_ranks`; both have `count` entries,
// one for each place.
__global__ void attach_kernel(const __grid_constant__ ObjectsView objects, const Slot* slots,
                              std::uint32_t count, const __grid_constant__ AgeLimits limits,
                              uint2* tags_and_ranks) {
  const std::uint64_t place = thread_index();
  if (place >= count) return;
  const Slot slot = slots[place];
  const std::uint32_t rank = limits.count == 0 ? 0 : rank_of(objects.times_us[slot], limits);
  tags_and_ranks[place] = {objects.tags[slot], rank};
}

}  // namespace

void Attached::reserve(std::uint32_t count, const LayersView& layers) {
  if (layers.has_tests_in_layer_0) tags_and_ranks_.reserve(count);
}

AttachedView Attached::attach_async(const ObjectsView& objects, const Slot* slots,
                                    std::uint32_t count, const LayersView& layers,
                                    const CudaStream& stream) {
  if (!layers.has_tests_in_layer_0 || count == 0) return {};
  attach_kernel<<<blocks_for(count), block_threads, 0, stream.get()>>>(
      objects, slots, count, layers.ages, tags_and_ranks_.data());
  check_launch();
  return {tags_and_ranks_.data()};
}

}  // namespace starling::gpu
