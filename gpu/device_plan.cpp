#include "gpu/device_plan.hpp"

#include <algorithm>

namespace starling::gpu {

std::size_t k_class(std::uint32_t k) {
  return static_cast<std::size_t>(std::ranges::lower_bound(k_class_limits, k) -
                                  std::begin(k_class_limits));
}

DevicePlan::DevicePlan(DeviceMemory& memory)
    : device_specs_(memory), rooms_(memory), rows_(memory), numbers_(memory), order_(memory) {}

DevicePlan::DevicePlan(DeviceMemory& memory, std::span<const QueryRow> queries,
                       const DeviceObjects& objects, const Stream& stream)
    : DevicePlan(memory) {
  std::vector<ListRow> rows;
  const auto add_search = [&](const QueryRow& query, Slot anchor) {
    specs_.push_back({query.position, anchor, query.k, query.filter});
    firsts_.push_back(room_);
    room_ += query.k;
    const bool has_subject = query.anchor == AnchorKind::every_object;
    rows.push_back({query.slot, has_subject, query.with_state, query.on,
                    has_subject ? objects.id(anchor) : ObjectId{}});
    return static_cast<std::uint32_t>(specs_.size() - 1);
  };
  for (const QueryRow& query : queries)
    if (is_alive(query.generation)) add_lists(query, objects, directory_, add_search);
  std::vector<std::uint32_t> numbers;
  sort_into_classes(numbers);
  upload(rows, numbers, stream);
}

DevicePlan::DevicePlan(DeviceMemory& memory, const EngineState& state, const Stream& stream)
    : DevicePlan(memory) {
  for (const EngineState::Query& query : state.queries_known)
    directory_.queries.push_back({query.slot, query.generation});
  for (const EngineState::List& list : state.lists) {
    const auto number = static_cast<std::uint32_t>(firsts_.size());
    directory_.lists.push_back(
        {list.query, list.generation, list.subject, list.subject_id, number, list.with_state});
    firsts_.push_back(list.first);
    specs_.push_back({.position = {}, .anchor = no_slot, .k = list.count, .filter = {}});
  }
  room_ = state.neighbors.size();
  upload({}, {}, stream);
}

void DevicePlan::sort_into_classes(std::vector<std::uint32_t>& numbers) {
  for (const SearchSpec& spec : specs_) ++class_begins_[k_class(spec.k) + 1];
  for (std::size_t i = 0; i < k_classes; ++i) class_begins_[i + 1] += class_begins_[i];
  std::array<std::uint32_t, k_classes + 1> next = class_begins_;
  numbers.resize(specs_.size());
  for (std::uint32_t number = 0; number < specs_.size(); ++number) {
    const std::uint32_t k = specs_[number].k;
    numbers[next[k_class(k)]++] = number;
    class_k_max_[k_class(k)] = std::max(class_k_max_[k_class(k)], k);
  }
}

void DevicePlan::upload(const std::vector<ListRow>& rows, const std::vector<std::uint32_t>& numbers,
                        const Stream& stream) {
  device_specs_.reserve(specs_.size());
  rooms_.reserve(firsts_.size());
  rows_.reserve(rows.size());
  numbers_.reserve(numbers.size());
  order_.reserve(numbers.size());
  copy_to_device_async(std::span<const SearchSpec>(specs_), device_specs_, stream);
  copy_to_device_async(std::span<const std::uint64_t>(firsts_), rooms_, stream);
  copy_to_device_async(std::span<const ListRow>(rows), rows_, stream);
  copy_to_device_async(std::span<const std::uint32_t>(numbers), numbers_, stream);
  stream.wait();
}

template <int dimensions>
void DevicePlan::order_async(const DeviceTree<dimensions>& tree, const ObjectsView& objects,
                             typename DeviceTree<dimensions>::Sort& sort, const Stream& stream) {
  for (std::size_t i = 0; i < k_classes; ++i) {
    const std::uint32_t begin = class_begins_[i];
    const std::uint32_t count = class_begins_[i + 1] - begin;
    if (count == 0) continue;
    search_keys_async<dimensions>(tree.view(), objects, device_specs_.data(),
                                  numbers_.data() + begin, count, sort.keys(), sort.values(),
                                  stream);
    const auto sorted = sort.sort_async(count, dimensions * tree.view().axis_bits, stream);
    check(cudaMemcpyAsync(order_.data() + begin, sorted.values, count * sizeof(std::uint32_t),
                          cudaMemcpyDeviceToDevice, stream.get()));
  }
}

template void DevicePlan::order_async<2>(const DeviceTree<2>&, const ObjectsView&,
                                         DeviceTree<2>::Sort&, const Stream&);
template void DevicePlan::order_async<3>(const DeviceTree<3>&, const ObjectsView&,
                                         DeviceTree<3>::Sort&, const Stream&);

}  // namespace starling::gpu
