// SPDX-License-Identifier: Apache-2.0
// Converts the rows, queries and questions of a request into what the tables and the engine take.
// ServedSpace converts positions and vectors. The server and the C interface call these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "starling/knn/engine/answers.hpp"
#include "starling/protocol/rows/prepared_rows.hpp"
#include "starling/protocol/rows/served_space.hpp"
#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::protocol {

RowSet<TagUpdate> convert(const UpdateTags& batch);
RowSet<ObjectRemoval> convert(const RemoveObjects& batch);
/// Leaves lease_end_us and owner at their defaults.
RowSet<QueryDefinition> convert(const PutQueries& batch, const ServedSpace& space);
/// Sets lease_end_us of the converted queries. Leases count from `base_us`. If `base_us` is
/// std::nullopt, returns a Problem for the first query with a lease.
std::optional<Problem> set_leases(const PutQueries& batch, std::optional<std::int64_t> base_us,
                                  RowSet<QueryDefinition>& set);

/// Appends the converted questions of `request` to `questions`, without the slots of followed
/// objects. Returns std::nullopt, or why the request is refused.
std::optional<Problem> convert_questions(const GetNeighbors& request, const ServedSpace& space,
                                         std::vector<OneShotQuery>& questions);

}  // namespace starling::protocol
