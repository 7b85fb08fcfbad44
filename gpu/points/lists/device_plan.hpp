// SPDX-License-Identifier: Apache-2.0
// A DevicePlan says which lists a tick has and in which order they are searched. The host needs the
// plan to report changes, and the device needs it to search. GpuEngine makes a plan from the
// queries, and keeps it until the queries or the subjects of every-object queries change.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/index/device_index.hpp"
#include "starling/gpu/points/lists/lists_launch.hpp"
#include "starling/gpu/points/objects/device_objects.hpp"
#include "starling/gpu/points/search/search_launch.hpp"
#include "starling/knn/engine/list_directory.hpp"

namespace starling::gpu {

inline constexpr std::size_t k_classes = std::size(k_class_limits);

class DevicePlan {
 public:
  /// Makes a plan without lists.
  explicit DevicePlan(DeviceMemory& memory);
  /// Makes a plan for the lists of `queries`. `queries` and `filter_numbers` are indexed by the
  /// query's slot. `filter_numbers` has the number of each query's filter. It may be empty if
  /// SearchBatch::routes is always null. Call number_by_place before the first search.
  DevicePlan(DeviceMemory& memory, std::span<const QueryRow> queries,
             std::span<const std::uint32_t> filter_numbers, const DeviceObjects& objects);
  /// Makes a plan for the lists of an imported state. This plan is never searched.
  DevicePlan(DeviceMemory& memory, const EngineState& state, const CudaStream& stream);

  const ListDirectory& directory() const { return directory_; }
  std::uint32_t list_count() const { return static_cast<std::uint32_t>(directory_.lists.size()); }
  std::uint64_t room() const { return room_; }
  /// Returns where the search's list begins, as an index into the arrays of neighbours and slots.
  std::uint64_t first(std::uint32_t search) const { return firsts_[search]; }
  std::uint32_t k(std::uint32_t search) const { return specs_[search].k; }
  const std::uint64_t* device_rooms() const { return rooms_.data(); }
  const ListRow* device_rows() const { return rows_.data(); }

  /// Numbers the searches of each class in spatial order. Searches that are near each other in
  /// space are then near each other in every array. Waits until the device has the plan. Call once,
  /// before the first search.
  template <int dimensions>
  void number_by_place(const DeviceIndex<dimensions>& index, const ObjectsView& objects,
                       SearchSort<dimensions>& sort, const CudaStream& stream);

  /// Puts the searches of each class into spatial order again, but does not change their numbers.
  /// Needed when anchors have moved.
  template <int dimensions>
  void order_async(const DeviceIndex<dimensions>& index, const ObjectsView& objects,
                   SearchSort<dimensions>& sort, const CudaStream& stream);

  /// Calls `search` with one batch for each class that has searches. `search` sets the members of
  /// the batch that for_each_class leaves unset, such as the outputs.
  template <class Search>
  void for_each_class(const Search& search) const {
    for (std::size_t i = 0; i < k_classes; ++i) {
      SearchBatch batch;
      batch.specs = device_specs_.data();
      batch.rooms = rooms_.data();
      batch.order = order_.data() + class_begins_[i];
      batch.count = class_begins_[i + 1] - class_begins_[i];
      batch.k_max = class_k_max_[i];
      if (batch.count > 0) search(batch);
    }
  }

 private:
  void sort_into_classes();
  void renumber(std::span<const std::uint32_t> order);
  void upload(const CudaStream& stream);

  ListDirectory directory_;
  std::vector<SearchSpec> specs_;
  std::vector<std::uint64_t> firsts_;
  std::vector<ListRow> list_rows_;
  std::vector<std::uint32_t> host_numbers_;
  std::uint64_t room_ = 0;
  std::array<std::uint32_t, k_classes + 1> class_begins_{};
  std::array<std::uint32_t, k_classes> class_k_max_{};

  DeviceBuffer<SearchSpec> device_specs_;
  DeviceBuffer<std::uint64_t> rooms_;
  DeviceBuffer<ListRow> rows_;
  DeviceBuffer<std::uint32_t> numbers_;  ///< the numbers of the searches, class after class
  DeviceBuffer<std::uint32_t> order_;  ///< the numbers in numbers_, but each class in spatial order
};

/// Returns the class of searches with this k (see k_class_limits): an index below k_classes.
std::size_t k_class(std::uint32_t k);

}  // namespace starling::gpu
