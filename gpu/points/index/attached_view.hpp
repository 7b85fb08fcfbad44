// SPDX-License-Identifier: Apache-2.0
// What filters test, by place: a search that tests many objects reads it from few cache lines.
// Attached owns the array, and the searches read it.
#pragma once

#include <cstdint>

#include <vector_types.h>

namespace starling::gpu {

/// A device pointer, by place. Null: searches read tags and times by slot.
struct AttachedView {
  /// x: the object's tags. y: its rank, the number of age limits, among those of all filters, that
  /// the object keeps.
  const uint2* tags_and_ranks = nullptr;

  bool operator==(const AttachedView&) const = default;
};

}  // namespace starling::gpu
