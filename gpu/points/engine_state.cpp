// SPDX-License-Identifier: Apache-2.0
// An export copies objects and lists to the host. An import copies lists to the device; GpuEngine
// itself applies imported objects, as staged rows. See engine_state.hpp.
#include "starling/gpu/points/engine_state.hpp"

#include <cstdint>
#include <memory>
#include <vector>

#include "starling/knn/engine/list_directory.hpp"

namespace starling::gpu {

EngineState export_parts(DeviceObjects& objects, std::span<const QueryRow> queries,
                         DeviceLists& lists, const CudaStream& stream) {
  const DevicePlan& plan = *lists.plan();
  objects.fetch(stream);
  std::vector<std::int64_t> times_us(objects.slot_count());
  std::vector<std::uint32_t> counts(plan.list_count());
  EngineState state;
  state.neighbors.resize(plan.room());
  state.slots.resize(plan.room());
  const DrainAtEnd drain(stream);
  copy_to_host_async(objects.view().times_us, std::span(times_us), stream);
  copy_to_host_async(lists.view().counts, std::span(counts), stream);
  copy_to_host_async(lists.view().neighbors, std::span(state.neighbors), stream);
  copy_to_host_async(lists.view().slots, std::span(state.slots), stream);
  stream.wait();
  for (Slot slot = 0; slot < objects.slot_count(); ++slot) {
    state.births.push_back({slot, objects.id(slot)});
    if (objects.is_alive(slot))
      state.objects.push_back(
          {slot, 1, objects.tags(slot), objects.position(slot), times_us[slot]});
  }
  state.queries.assign(queries.begin(), queries.end());
  export_directory(
      plan.directory(), [&](std::uint32_t search) { return counts[search]; },
      [&](std::uint32_t search) { return plan.first(search); }, state);
  return state;
}

void import_lists(const EngineState& state, DeviceLists& lists, DeviceMemory& memory,
                  const CudaStream& stream) {
  lists.lay_out(std::make_shared<DevicePlan>(memory, state, stream), stream);
  std::vector<std::uint32_t> counts;
  counts.reserve(state.lists.size());
  for (const EngineState::List& list : state.lists) counts.push_back(list.count);
  const DrainAtEnd drain(stream);
  copy_to_device_async(std::span<const std::uint32_t>(counts), lists.counts(), stream);
  copy_to_device_async(std::span<const Neighbor>(state.neighbors), lists.neighbors(), stream);
  copy_to_device_async(std::span<const Slot>(state.slots), lists.slots(), stream);
  stream.wait();
}

}  // namespace starling::gpu
