// SPDX-License-Identifier: Apache-2.0
// Launches the kernels that count and list the objects that pass filters. FilterLayers calls these
// functions. All pointers are device pointers, unless a comment says otherwise.
#pragma once

#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/points/index/layers.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"
#include "starling/knn/words/filter.hpp"

namespace starling::gpu {

/// A filter without its limit of the distance.
struct DeviceFilter {
  TagFilter tags;
  std::int64_t age_us_max;
};

/// Adds to counts[f] how many living objects pass filter f at `tau_us`.
void count_passing_async(const ObjectsView& objects, const DeviceFilter* filters,
                         std::uint32_t count, std::int64_t tau_us, std::uint32_t* counts,
                         const CudaStream& stream);
/// Stores the counts to `host`, which is pinned memory, and sets them to 0.
void tell_counts_async(std::uint32_t* counts, std::uint32_t count, std::uint32_t* host,
                       const CudaStream& stream);

/// Which filters have layers.
struct LayerChoice {
  FilterRoute* routes;     ///< by filter
  std::uint32_t* numbers;  ///< for each layer from layer 1 on: the number of its filter
  Layer* layers;           ///< from layer 1 on
};
/// Where list_passing_async writes.
struct LayerOutput {
  std::uint32_t* cursors;  ///< by layer: the next entry
  LayerEntry* entries;
};
/// Copies `from`, which is pinned memory, to `to`. Sets the cursors to the layers' first entries,
/// and writes the unused entries: each layer has a multiple of `group` entries.
void take_choice_async(const LayerChoice& from, const LayerChoice& to, std::uint32_t filters,
                       std::uint32_t layers, std::uint32_t group, const LayerOutput& output,
                       const CudaStream& stream);

/// Writes the objects of each layer to its first `count` entries. Call after take_choice_async,
/// with the same output. The objects must be those that were counted.
void list_passing_async(const ObjectsView& objects, const DeviceFilter* filters,
                        const LayerChoice& choice, std::uint32_t layers, std::int64_t tau_us,
                        const LayerOutput& output, const CudaStream& stream);

}  // namespace starling::gpu
