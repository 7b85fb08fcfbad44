// SPDX-License-Identifier: Apache-2.0
// The id of a query with its slot. QueryTable lists the queries of a stream as QuerySlots, and a
// snapshot finds the query ids of the engine's lists with them.
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
