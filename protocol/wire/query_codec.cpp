// SPDX-License-Identifier: Apache-2.0
// Encodes and reads the Query tables of requests and replies: see query_codec.hpp.
#include "starling/protocol/wire/query_codec.hpp"

namespace starling::protocol {

using flatbuffers::Offset;

Offset<flatbuffers::Vector<Offset<wire::Query>>> add_queries(
    flatbuffers::FlatBufferBuilder& builder, const std::vector<QuerySpec>& queries) {
  std::vector<Offset<wire::Query>> tables;
  tables.reserve(queries.size());
  for (const QuerySpec& query : queries) {
    const wire::Vec3 position(query.position[0], query.position[1], query.position[2]);
    const bool has_position = query.anchor == AnchorKind::fixed && query.vector.empty();
    const auto vector = add_array(builder, std::span(query.vector));
    tables.push_back(wire::CreateQuery(
        builder, to_number(query.id), query.k, static_cast<wire::AnchorKind>(query.anchor),
        has_position ? &position : nullptr, to_number(query.object), query.tags.required,
        query.tags.forbidden, query.distance_max_m, query.age_max_us, query.subject.required,
        query.subject.forbidden, query.lease_ms, vector, query.vote,
        static_cast<wire::RegressionWeights>(query.regress)));
  }
  return builder.CreateVector(tables);
}

QuerySpec query_of(const wire::Query& table) {
  QuerySpec query{.id = QueryId{table.id()},
                  .k = table.k(),
                  .anchor = static_cast<AnchorKind>(table.anchor()),
                  .object = ObjectId{table.object()},
                  .tags = {table.tags_required(), table.tags_forbidden()},
                  .distance_max_m = table.distance_max_m(),
                  .age_max_us = table.age_max_us(),
                  .subject = {table.subject_tags_required(), table.subject_tags_forbidden()},
                  .lease_ms = table.lease_ms(),
                  .vote = table.vote(),
                  .regress = static_cast<RegressionWeights>(table.regress())};
  if (const wire::Vec3* position = table.position())
    query.position = {position->x(), position->y(), position->z()};
  if (const auto vector = to_span(table.vector()); query.anchor == AnchorKind::fixed)
    query.vector.assign(vector.begin(), vector.end());
  return query;
}

}  // namespace starling::protocol
