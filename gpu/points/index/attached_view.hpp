// SPDX-License-Identifier: Apache-2.0
// Points to what filters test: the objects' tags, and their ranks by age. The array is in the order
// of places, where neighbours in space are near each other, so a search that tests many objects
// reads few cache lines. Attached owns the array, and the searches read it.
#pragma once

#include <cstdint>

#include <vector_types.h>

namespace starling::gpu {

/// A device pointer to an array indexed by place. If it is null, searches read tags and times by
/// slot.
struct AttachedView {
  /// x: the object's tags. y: the object's rank, which is how many of the AgeLimits it keeps.
  const uint2* tags_and_ranks = nullptr;

  bool operator==(const AttachedView&) const = default;
};

}  // namespace starling::gpu
