// SPDX-License-Identifier: Apache-2.0
// The id of a query with its slot. QueryTable lists a stream's queries so, and a snapshot finds the
// ids of the engine's lists with it.
#pragma once

#include <compare>

#include "starling/knn/words/query.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

struct QuerySlot {
  QueryId id{};
  Slot slot = no_slot;
  auto operator<=>(const QuerySlot&) const = default;
};

}  // namespace starling
