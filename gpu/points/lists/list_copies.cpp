// SPDX-License-Identifier: Apache-2.0
// A kernel gathers lists and states, with room for k neighbours in each list. The host then closes
// the gaps between the lists. GpuEngine calls copy_lists for read_lists. See list_copies.hpp.
#include "starling/gpu/points/lists/list_copies.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "starling/gpu/points/lists/lists_launch.hpp"
#include "starling/knn/engine/engine_answers.hpp"

namespace starling::gpu {
namespace {

/// Moves `count` elements of `values` from index `first` down to index `end`. Then sets `first` to
/// the new index of the first moved element, and `end` to the index after the last moved element.
template <class T>
void move_down(std::vector<T>& values, std::uint32_t count, std::uint64_t& first,
               std::uint64_t& end) {
  const auto from = values.begin() + static_cast<std::ptrdiff_t>(first);
  if (first != end)
    std::copy(from, from + count, values.begin() + static_cast<std::ptrdiff_t>(end));
  first = end;
  end += count;
}

}  // namespace

void close_gaps(Answers& answers) {
  std::uint64_t end = 0;
  std::uint64_t states_end = 0;
  for (Answers::List& list : answers.lists) {
    move_down(answers.neighbors, list.count, list.first, end);
    if (list.first_state != ReportedList::no_state)
      move_down(answers.states, list.count, list.first_state, states_end);
  }
  answers.neighbors.resize(end);
  answers.states.resize(states_end);
}

void copy_lists(std::span<const Slot> queries, DeviceLists& lists, bool objects_are_ahead,
                const ObjectsView& objects, DeviceMemory& memory, const CudaStream& stream,
                Answers& answers) {
  const DevicePlan& plan = *lists.plan();
  std::vector<std::uint32_t> searches;
  std::vector<std::uint64_t> firsts;
  std::vector<std::uint64_t> first_states;
  std::uint64_t room = 0;
  std::uint64_t room_states = 0;
  for (const Slot query : queries)
    for (const ListDirectory::List& known :
         std::ranges::equal_range(plan.directory().lists, query, {}, &ListDirectory::List::query)) {
      Answers::List& list = answers.lists.emplace_back();
      list.query = query;
      list.has_subject = known.subject != no_slot;
      list.subject = known.subject_id;
      list.first = room;
      if (known.with_state) {
        if (objects_are_ahead) throw std::runtime_error(ask_after_next_tick);
        list.first_state = room_states;
        room_states += plan.k(known.search);
      }
      searches.push_back(known.search);
      firsts.push_back(list.first);
      first_states.push_back(list.first_state);
      room += plan.k(known.search);
    }
  if (searches.empty()) return;
  std::vector<std::uint32_t> counts(searches.size());
  answers.neighbors.resize(room);
  answers.states.resize(room_states);
  DeviceBuffer<std::uint32_t> device_searches(memory, searches.size());
  DeviceBuffer<std::uint64_t> device_firsts(memory, searches.size());
  DeviceBuffer<std::uint64_t> device_first_states(memory, searches.size());
  DeviceBuffer<std::uint32_t> device_counts(memory, searches.size());
  DeviceBuffer<Neighbor> device_neighbors(memory);
  DeviceBuffer<NeighborState> device_states(memory);
  device_neighbors.reserve_cleared(room, stream);  // the copy includes room that no list fills
  device_states.reserve_cleared(room_states, stream);
  const DrainAtEnd drain(stream);
  copy_to_device_async(std::span<const std::uint32_t>(searches), device_searches, stream);
  copy_to_device_async(std::span<const std::uint64_t>(firsts), device_firsts, stream);
  copy_to_device_async(std::span<const std::uint64_t>(first_states), device_first_states, stream);
  copy_lists_async(lists.view(), objects,
                   {device_searches.data(), device_firsts.data(), device_first_states.data(),
                    static_cast<std::uint32_t>(searches.size()), device_counts.data(),
                    device_neighbors.data(), device_states.data()},
                   stream);
  copy_to_host_async(device_counts.data(), std::span(counts), stream);
  copy_to_host_async(device_neighbors.data(), std::span(answers.neighbors), stream);
  copy_to_host_async(device_states.data(), std::span(answers.states), stream);
  stream.wait();
  for (std::size_t i = 0; i < counts.size(); ++i) answers.lists[i].count = counts[i];
  close_gaps(answers);
}

}  // namespace starling::gpu
