// SPDX-License-Identifier: Apache-2.0
// Sorts searches into classes by k (see k_class_limits) on the host. Puts each class into spatial
// order on the device. Then numbers the searches in that order, on host and device. See
// device_plan.hpp.
#include "starling/gpu/points/lists/device_plan.hpp"

#include <algorithm>
#include <utility>

namespace starling::gpu {

std::size_t k_class(std::uint32_t k) {
  return static_cast<std::size_t>(std::ranges::lower_bound(k_class_limits, k) -
                                  std::begin(k_class_limits));
}

DevicePlan::DevicePlan(DeviceMemory& memory)
    : device_specs_(memory), rooms_(memory), rows_(memory), numbers_(memory), order_(memory) {}

DevicePlan::DevicePlan(DeviceMemory& memory, std::span<const QueryRow> queries,
                       std::span<const std::uint32_t> filter_numbers, const DeviceObjects& objects)
    : DevicePlan(memory) {
  const auto add_search = [&](const QueryRow& query, Slot anchor) {
    const auto search = static_cast<std::uint32_t>(specs_.size());
    const std::uint32_t filter = filter_numbers.empty() ? 0 : filter_numbers[query.slot];
    specs_.push_back({query.position, anchor, query.k, filter, query.filter});
    firsts_.push_back(room_);
    room_ += query.k;
    const bool has_subject = query.anchor == AnchorKind::every_object;
    list_rows_.push_back({query.slot, has_subject, query.with_state, query.on, search,
                          has_subject ? objects.id(anchor) : ObjectId{}});
    return search;
  };
  for (const QueryRow& query : queries)
    if (is_alive(query.generation)) add_lists(query, objects, directory_, add_search);
  sort_into_classes();
}

DevicePlan::DevicePlan(DeviceMemory& memory, const EngineState& state, const CudaStream& stream)
    : DevicePlan(memory) {
  directory_ = directory_of(state);
  for (const EngineState::List& list : state.lists) {
    firsts_.push_back(list.first);
    specs_.emplace_back().k = list.count;
  }
  room_ = state.neighbors.size();
  upload(stream);
}

void DevicePlan::sort_into_classes() {
  for (const SearchSpec& spec : specs_) ++class_begins_[k_class(spec.k) + 1];
  for (std::size_t i = 0; i < k_classes; ++i) class_begins_[i + 1] += class_begins_[i];
  std::array<std::uint32_t, k_classes + 1> next = class_begins_;
  host_numbers_.resize(specs_.size());
  for (std::uint32_t number = 0; number < specs_.size(); ++number) {
    const std::uint32_t k = specs_[number].k;
    host_numbers_[next[k_class(k)]++] = number;
    class_k_max_[k_class(k)] = std::max(class_k_max_[k_class(k)], k);
  }
}

// Search order[i] gets the number i. `order` has the numbers of one class after another, each class
// in spatial order.
void DevicePlan::renumber(std::span<const std::uint32_t> order) {
  std::vector<SearchSpec> specs(specs_.size());
  std::vector<std::uint32_t> number_of(specs_.size());
  room_ = 0;
  for (std::uint32_t number = 0; number < order.size(); ++number) {
    specs[number] = specs_[order[number]];
    number_of[order[number]] = number;
    firsts_[number] = room_;
    room_ += specs[number].k;
    host_numbers_[number] = number;
  }
  specs_ = std::move(specs);
  for (ListDirectory::List& list : directory_.lists) list.search = number_of[list.search];
  for (ListRow& row : list_rows_) row.search = number_of[row.search];
}

void DevicePlan::upload(const CudaStream& stream) {
  device_specs_.reserve(specs_.size());
  rooms_.reserve(firsts_.size());
  rows_.reserve(list_rows_.size());
  numbers_.reserve(host_numbers_.size());
  order_.reserve(host_numbers_.size());
  copy_to_device_async(std::span<const SearchSpec>(specs_), device_specs_, stream);
  copy_to_device_async(std::span<const std::uint64_t>(firsts_), rooms_, stream);
  copy_to_device_async(std::span<const ListRow>(list_rows_), rows_, stream);
  copy_to_device_async(std::span<const std::uint32_t>(host_numbers_), numbers_, stream);
  copy_to_device_async(std::span<const std::uint32_t>(host_numbers_), order_, stream);
  stream.wait();
}

template <int dimensions>
void DevicePlan::number_by_place(const DeviceIndex<dimensions>& index, const ObjectsView& objects,
                                 SearchSort<dimensions>& sort, const CudaStream& stream) {
  upload(stream);
  order_async<dimensions>(index, objects, sort, stream);
  std::vector<std::uint32_t> order(specs_.size());
  const DrainAtEnd drain(stream);
  copy_to_host_async(order_.data(), std::span(order), stream);
  stream.wait();
  renumber(order);
  upload(stream);
}

template <int dimensions>
void DevicePlan::order_async(const DeviceIndex<dimensions>& index, const ObjectsView& objects,
                             SearchSort<dimensions>& sort, const CudaStream& stream) {
  for (std::size_t i = 0; i < k_classes; ++i) {
    const std::uint32_t begin = class_begins_[i];
    const std::uint32_t count = class_begins_[i + 1] - begin;
    if (count == 0) continue;
    search_keys_async(
        index.view(), objects,
        {device_specs_.data(), numbers_.data() + begin, count, sort.keys(), sort.values()}, stream);
    const auto sorted = sort.sort_async(count, DeviceIndex<dimensions>::search_key_bits, stream);
    check(cudaMemcpyAsync(order_.data() + begin, sorted.values, count * sizeof(std::uint32_t),
                          cudaMemcpyDeviceToDevice, stream.get()));
  }
}

template void DevicePlan::number_by_place<2>(const DeviceIndex<2>&, const ObjectsView&,
                                             SearchSort<2>&, const CudaStream&);
template void DevicePlan::number_by_place<3>(const DeviceIndex<3>&, const ObjectsView&,
                                             SearchSort<3>&, const CudaStream&);
template void DevicePlan::order_async<2>(const DeviceIndex<2>&, const ObjectsView&, SearchSort<2>&,
                                         const CudaStream&);
template void DevicePlan::order_async<3>(const DeviceIndex<3>&, const ObjectsView&, SearchSort<3>&,
                                         const CudaStream&);

}  // namespace starling::gpu
