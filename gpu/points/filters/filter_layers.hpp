// SPDX-License-Identifier: Apache-2.0
// Chooses layers of the index for filters that few objects pass. Example: riders look for free
// drivers. If few drivers are free, a search among all objects reads many other objects for each
// free driver that it finds. In each tick FilterLayers counts the objects that pass each filter. It
// then chooses the filters for which a layer saves more time than it costs. GpuEngine owns it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/filters/passing_launch.hpp"
#include "starling/gpu/points/filters/query_filters.hpp"
#include "starling/gpu/points/index/layers.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"

namespace starling::gpu {

class FilterLayers {
 public:
  /// `group` is the group size of the index: see Layer.
  FilterLayers(DeviceMemory& memory, std::uint32_t group);

  /// Takes the filters of all living queries; `queries` is indexed by slot. Waits until the filters
  /// are copied to the device. If assign throws, call it again before the next tick.
  void assign(std::span<const QueryRow> queries, const CudaStream& stream);
  /// Returns the number of each query's filter, indexed by the query's slot. Empty if no query
  /// limits tags or ages.
  const std::vector<std::uint32_t>& numbers() const { return queries_.numbers(); }

  /// Enqueues counting the objects that pass each filter. If there are very many filters, counts
  /// only for the filters with the lowest numbers; all other filters get no layer.
  void count_async(const ObjectsView& objects, std::int64_t tau_us, const CudaStream& stream);
  /// Chooses the layers. Call after the CUDA stream has finished what count_async() enqueued.
  /// `alive` is the number of living objects.
  void choose(std::uint32_t alive);
  /// Enqueues listing the objects of the chosen layers. `objects` and `tau_us` must be the same as
  /// in count_async().
  void list_async(const ObjectsView& objects, std::int64_t tau_us, const CudaStream& stream);

  /// Returns the layers that choose() chose. Its pointers are valid after list_async().
  const LayersView& view() const { return view_; }
  /// Returns a device pointer to the routes, indexed by the number of the filter. Null if no query
  /// limits tags or ages.
  const FilterRoute* routes() const;
  /// Returns true if some searches must test objects for their filter.
  bool has_tests() const { return view_.has_tests_in_layer_0; }

  std::uint64_t bytes_used() const;

 private:
  /// Returns how many entries the layers may have together. `worth` has the numbers of the filters
  /// whose layers would save time.
  std::uint64_t entries_max(const std::vector<std::uint32_t>& worth, std::uint32_t alive) const;
  void add_layer(std::uint32_t filter);
  AgeLimits age_limits(std::int64_t tau_us) const;

  const DeviceMemory* memory_;
  const std::uint32_t group_;
  QueryFilters queries_;
  std::uint32_t counted_ = 0;  ///< objects were counted for the first `counted_` filters
  LayersView view_;

  DeviceBuffer<DeviceFilter> filters_;
  DeviceBuffer<std::int64_t> ages_us_;  ///< see QueryFilters::ages_us
  DeviceBuffer<std::uint32_t> counts_;  ///< [filter]: number of passing objects; 0 between ticks
  DeviceBuffer<FilterRoute> device_routes_;
  // LayerChoice and LayerOutput describe the next four members.
  DeviceBuffer<std::uint32_t> numbers_;
  DeviceBuffer<Layer> layers_;
  DeviceBuffer<std::uint32_t> cursors_;
  DeviceBuffer<LayerEntry> entries_;

  // In pinned memory, kernels write host_counts_ and read the three members after it.
  PinnedBuffer<std::uint32_t> host_counts_;
  PinnedBuffer<FilterRoute> host_routes_;
  PinnedBuffer<std::uint32_t> host_numbers_;
  PinnedBuffer<Layer> host_layers_;
};

}  // namespace starling::gpu
