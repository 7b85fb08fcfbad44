// SPDX-License-Identifier: Apache-2.0
// Describes the layers of an index. Layer 0 has all living objects. Each further layer has the
// objects that pass one filter, so that a search with this filter reads no other objects. The
// objects of layers 1, 2 and so on are listed as entries. FilterLayers chooses the layers of a
// tick, DeviceGrid and DeviceTree build them, and the searches read them.
#pragma once

#include <cstdint>

#include "starling/knn/words/types.hpp"

namespace starling::gpu {

/// An object of a layer, or an unused entry after the layer's last object.
struct LayerEntry {
  Slot slot;  ///< no_slot: an unused entry
  std::uint32_t layer;
};

/// A layer other than layer 0. A layer consists of whole groups of entries. In a grid, a group is
/// one entry. In a tree, a group is a leaf, which has 16 entries. The entries after the layer's
/// last object are unused.
struct Layer {
  std::uint32_t first;  ///< the index of its first entry: a multiple of the group size
  std::uint32_t count;  ///< how many objects it has
};

/// The different age limits of all filters, the greatest first. An object that keeps a limit also
/// keeps all limits before it.
struct AgeLimits {
  const std::int64_t* ages_us = nullptr;  ///< a device pointer
  std::uint32_t count = 0;
  std::int64_t tau_us = 0;
};

/// Layers 1 to `count` of a tick. The pointers are device pointers.
struct LayersView {
  const Layer* layers = nullptr;  ///< layer i is layers[i - 1]
  const LayerEntry* entries = nullptr;
  std::uint32_t count = 0;
  std::uint32_t object_count = 0;  ///< the sum of the layers' objects
  std::uint32_t entry_count = 0;   ///< object_count plus the number of unused entries
  /// True if some searches in layer 0 must test objects for their filter.
  bool has_tests_in_layer_0 = false;
  AgeLimits ages;
};

/// Where the searches with one filter look, and how many objects they find there.
struct FilterRoute {
  std::uint32_t layer = 0;
  std::uint32_t first = 0;  ///< the index of the layer's first entry; 0 for layer 0
  std::uint32_t count = 0;  ///< how many objects the layer has; 0 if no object passes the filter
  float passing_share = 1;  ///< passing objects / objects of the layer; 1 if they were not counted
  bool has_tests = false;   ///< true if the filter may reject objects of the layer
  std::uint32_t least_rank = 0;  ///< objects of this rank or more keep the filter's age limit
};

}  // namespace starling::gpu
