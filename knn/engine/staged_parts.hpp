// SPDX-License-Identifier: Apache-2.0
// Decides when an engine takes a part of the rows that are staged for the next tick: see
// Staging::part_ends. Engines that copy rows to a device use it.
#pragma once

#include <algorithm>
#include <cstddef>

#include "starling/knn/engine/staging.hpp"

namespace starling {

class StagedParts {
 public:
  /// A part has at least `rows_min` rows.
  explicit StagedParts(std::size_t rows_min) : rows_min_(rows_min) {}

  /// Returns true if enough rows for another part were staged after the last part.
  bool is_due(const Staging& staging) const {
    const std::size_t rows = staging.objects.size();
    const std::size_t least = std::max(rows_min_, last_rows_ / parts_a_tick);
    // If objects change several times in a tick, rows that were taken are staged again. A part is
    // therefore taken only while there are no more rows than objects.
    return rows - staging.taken_rows >= least && rows <= slots_ &&
           staging.part_ends.size() < parts_max;
  }

  /// Call with the rows of a tick that begins.
  void begin_tick(const Staging& staged) {
    last_rows_ = staged.objects.size();
    for (const ObjectBirth& birth : staged.births)
      slots_ = std::max(slots_, std::size_t{birth.slot} + 1);
  }

 private:
  // A part has at least the last tick's rows divided by this number, so a tick has about this many.
  static constexpr std::size_t parts_a_tick = 8;
  static constexpr std::size_t parts_max = 16;

  std::size_t rows_min_;
  std::size_t slots_ = 0;  ///< number of slots of the objects that were born before the last tick
  std::size_t last_rows_ = 0;  ///< number of rows of the last tick
};

}  // namespace starling
