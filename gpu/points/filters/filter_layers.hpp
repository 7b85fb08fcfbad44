// SPDX-License-Identifier: Apache-2.0
// Layers for filters that few objects pass. Example: riders look for free drivers; if few drivers
// are free, a search among all objects reads many others for each driver that it finds. In each
// tick FilterLayers counts the objects that pass each filter, and chooses the filters for which a
// layer of the index saves more time than it costs. GpuEngine owns it.
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
  /// Each layer's first entry is a multiple of `group`.
  FilterLayers(DeviceMemory& memory, std::uint32_t group);

  /// Takes the filters of all living queries; `queries` is indexed by slot. Waits for the copy to
  /// the device. If assign throws, call it again before the next tick.
  void assign(std::span<const QueryRow> queries, const CudaStream& stream);
  /// By the query's slot: the number of its filter. Empty if every query accepts all objects.
  const std::vector<std::uint32_t>& numbers() const { return queries_.numbers(); }

  /// Enqueues counting the objects that pass each filter.
  void count_async(const ObjectsView& objects, std::int64_t tau_us, const CudaStream& stream);
  /// Chooses the layers. Call after the CUDA stream has counted. `alive` is the number of living
  /// objects.
  void choose(std::uint32_t alive);
  /// Enqueues listing the objects of the chosen layers. The objects and `tau_us` must be those that
  /// were counted.
  void list_async(const ObjectsView& objects, std::int64_t tau_us, const CudaStream& stream);

  /// The layers that were listed last.
  const LayersView& view() const { return view_; }
  /// For each filter: where its searches look. A device pointer, or null if every query accepts all
  /// objects.
  const FilterRoute* routes() const;
  /// Whether some searches must test objects for their filter.
  bool has_tests() const { return view_.has_tests_in_layer_0; }

  std::uint64_t bytes_used() const;

 private:
  void add_layer(std::uint32_t filter);

  const std::uint32_t group_;
  QueryFilters queries_;
  std::uint32_t counted_ = 0;  ///< filters whose objects were counted; the first ones
  LayersView view_;

  DeviceBuffer<DeviceFilter> filters_;
  DeviceBuffer<std::int64_t> ages_us_;  ///< as QueryFilters::ages_us
  DeviceBuffer<std::uint32_t> counts_;  ///< by filter; 0 between ticks
  DeviceBuffer<FilterRoute> device_routes_;
  DeviceBuffer<std::uint32_t> numbers_;  ///< by layer, like the two below
  DeviceBuffer<Layer> layers_;
  DeviceBuffer<std::uint32_t> cursors_;
  DeviceBuffer<LayerEntry> entries_;

  // Pinned memory, which kernels read and write:
  PinnedBuffer<std::uint32_t> host_counts_;
  PinnedBuffer<FilterRoute> host_routes_;
  PinnedBuffer<std::uint32_t> host_numbers_;
  PinnedBuffer<Layer> host_layers_;
};

}  // namespace starling::gpu
