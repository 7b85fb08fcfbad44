// SPDX-License-Identifier: Apache-2.0
// Layers of an index. Layer 0 has all living objects. Each further layer has the objects that pass
// one filter, so that a search with this filter meets no others. FilterLayers chooses the layers of
// a tick, DeviceGrid and DeviceTree build them, and the searches read them.
#pragma once

#include <cstdint>

#include "starling/knn/words/types.hpp"

namespace starling::gpu {

/// An object of a layer.
struct LayerEntry {
  Slot slot;  ///< no_slot: an unused entry, which completes a layer's last group
  std::uint32_t layer;
};

/// A layer other than layer 0.
struct Layer {
  std::uint32_t first;  ///< its first entry: a multiple of the layers' group size
  std::uint32_t count;  ///< its objects; the entries after them, up to the next layer, are unused
};

/// The different age limits of all filters, the greatest first. An object keeps the first ones.
struct AgeLimits {
  const std::int64_t* ages_us = nullptr;  ///< a device pointer
  std::uint32_t count = 0;
  std::int64_t tau_us = 0;
};

/// Layers 1 to `count` of a tick. Device pointers.
struct LayersView {
  const Layer* layers = nullptr;  ///< layer i is layers[i - 1]
  const LayerEntry* entries = nullptr;
  std::uint32_t count = 0;
  std::uint32_t object_count = 0;  ///< of all these layers together
  std::uint32_t entry_count = 0;   ///< object_count and the unused entries
  /// Whether some searches in layer 0 must test objects for their filter.
  bool has_tests_in_layer_0 = false;
  AgeLimits ages;
};

/// Where the searches with one filter look, and how much they find there.
struct FilterRoute {
  std::uint32_t layer = 0;
  std::uint32_t first = 0;  ///< the layer's first entry; 0 for layer 0
  std::uint32_t count = 0;  ///< objects of the layer; 0: no object passes the filter
  float passing_share = 1;  ///< about the share of the layer's objects that passes; more than 0
  bool has_tests = false;   ///< whether the layer has objects that the filter rejects
  std::uint32_t least_rank = 0;  ///< of objects that keep the filter's age limit: see AttachedView
};

}  // namespace starling::gpu
