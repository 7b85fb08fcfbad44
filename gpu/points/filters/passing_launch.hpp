// SPDX-License-Identifier: Apache-2.0
// Launches the kernels that test objects for filters, and count and list the objects that pass.
// FilterLayers calls these functions. All pointers are device pointers, unless a comment says
// otherwise.
#pragma once

#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/points/index/layers.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"
#include "starling/knn/words/filter.hpp"

namespace starling::gpu {

/// A filter without its greatest distance.
struct DeviceFilter {
  TagFilter tags;
  std::uint32_t least_rank;  ///< see FilterRoute::least_rank; 0 if the filter has no age limit
};

/// Adds to counts[f] how many living objects pass filter f. `ages` has the age limits of all
/// filters.
void count_passing_async(const ObjectsView& objects, const DeviceFilter* filters,
                         std::uint32_t count, const AgeLimits& ages, std::uint32_t* counts,
                         const CudaStream& stream);
/// Copies `counts` to `host`, which is pinned memory, and then sets `counts` to 0.
void tell_counts_async(std::uint32_t* counts, std::uint32_t count, std::uint32_t* host,
                       const CudaStream& stream);

/// The chosen layers, and where the searches of each filter look.
struct LayerChoice {
  FilterRoute* routes;     ///< [filter]
  std::uint32_t* numbers;  ///< numbers[i] is the number of the filter of layer i + 1
  Layer* layers;           ///< layers[i] is layer i + 1
};
/// Where list_passing_async writes.
struct LayerOutput {
  std::uint32_t* cursors;  ///< cursors[i] is the index of the next entry to write for layer i + 1
  LayerEntry* entries;
};
/// Copies `from`, which is pinned memory, to `to`. Sets the cursors to the layers' first entries.
/// Writes the unused entries, so that each layer's number of entries is a multiple of `group`.
void take_choice_async(const LayerChoice& from, const LayerChoice& to, std::uint32_t filters,
                       std::uint32_t layers, std::uint32_t group, const LayerOutput& output,
                       const CudaStream& stream);

/// Writes the objects of each layer to the layer's first Layer::count entries. Call after
/// take_choice_async, with the same output. `objects`, `filters` and `ages` must be the same as
/// in count_passing_async.
void list_passing_async(const ObjectsView& objects, const DeviceFilter* filters,
                        const LayerChoice& choice, std::uint32_t layers, const AgeLimits& ages,
                        const LayerOutput& output, const CudaStream& stream);

}  // namespace starling::gpu
