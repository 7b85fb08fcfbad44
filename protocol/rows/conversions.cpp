// SPDX-License-Identifier: Apache-2.0
// Converts row by row, and computes the ends of leases: see conversions.hpp.
#include "starling/protocol/rows/conversions.hpp"

#include <cstddef>
#include <string>
#include <utility>

#include "starling/knn/base/times.hpp"
#include "starling/protocol/wire/check.hpp"

namespace starling::protocol {
namespace {

std::int64_t lease_end_us(std::int64_t base_us, std::uint64_t lease_ms) {
  constexpr std::int64_t us_per_ms = 1000;
  constexpr auto limit_ms = static_cast<std::uint64_t>(QueryDefinition::no_lease / us_per_ms / 2);
  if (lease_ms >= limit_ms) return QueryDefinition::no_lease;
  return saturating_add(base_us, static_cast<std::int64_t>(lease_ms) * us_per_ms);
}

}  // namespace

RowSet<TagUpdate> convert(const UpdateTags& batch) {
  RowSet<TagUpdate> set;
  set.reasons.resize(batch.ids.size());
  set.rows.reserve(batch.ids.size());
  for (std::size_t row = 0; row < batch.ids.size(); ++row)
    set.rows.push_back({.id = ObjectId{batch.ids[row]},
                        .time_us = batch.times_us[row],
                        .set = batch.set[row],
                        .clear = batch.clear[row]});
  return set;
}

RowSet<ObjectRemoval> convert(const RemoveObjects& batch) {
  RowSet<ObjectRemoval> set;
  set.reasons.resize(batch.ids.size());
  set.rows.reserve(batch.ids.size());
  for (std::size_t row = 0; row < batch.ids.size(); ++row)
    set.rows.push_back({.id = ObjectId{batch.ids[row]}, .time_us = batch.times_us[row]});
  return set;
}

RowSet<QueryDefinition> convert(const PutQueries& batch, const ServedSpace& space) {
  RowSet<QueryDefinition> set;
  set.reasons.resize(batch.queries.size());
  set.rows.reserve(batch.queries.size());
  for (std::size_t row = 0; row < batch.queries.size(); ++row) {
    const QuerySpec& query = batch.queries[row];
    QueryDefinition definition{.id = query.id,
                               .k = query.k,
                               .anchor = {query.anchor, {}, query.object},
                               .filter = space.to_filter(query),
                               .subject = query.subject,
                               .vote = query.vote,
                               .regress = query.regress};
    if (query.anchor == AnchorKind::fixed)
      if (const auto fault =
              space.place(query, definition.anchor.position, definition.components)) {
        set.reject(row, fault->reason, fault->column);
        continue;
      }
    set.rows.push_back(std::move(definition));
  }
  return set;
}

std::optional<Problem> set_leases(const PutQueries& batch, std::optional<std::int64_t> base_us,
                                  RowSet<QueryDefinition>& set) {
  auto definition = set.rows.begin();
  for (std::size_t row = 0; row < batch.queries.size(); ++row) {
    if (set.reasons[row] != RowReason::none) continue;
    const std::uint64_t lease_ms = batch.queries[row].lease_ms;
    if (lease_ms > 0 && !base_us)
      return bad_value(
          "A lease counts from the time of the last tick, and there was no tick yet; advance one "
          "first, or put the query without a lease.");
    if (lease_ms > 0) definition->lease_end_us = lease_end_us(*base_us, lease_ms);
    ++definition;
  }
  return std::nullopt;
}

std::optional<Problem> convert_questions(const GetNeighbors& request, const ServedSpace& space,
                                         std::vector<OneShotQuery>& questions) {
  questions.reserve(request.questions.size());
  for (const QuerySpec& asked : request.questions) {
    OneShotQuery question{.k = asked.k,
                          .anchor = asked.anchor,
                          .position = {},
                          .filter = space.to_filter(asked),
                          .vote = asked.vote,
                          .regress = asked.regress};
    if (asked.anchor == AnchorKind::fixed)
      if (const auto fault = space.place(asked, question.position, question.components))
        return Problem{ErrorCode::bad_value, "Question " + std::to_string(questions.size()) + ": " +
                                                 fault->sentence + "."};
    questions.push_back(std::move(question));
  }
  return std::nullopt;
}

}  // namespace starling::protocol
