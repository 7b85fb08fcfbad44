// SPDX-License-Identifier: Apache-2.0
// Defines short forms of updates, queries and expected lists, so that a test's code is easy to
// read.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "starling/knn/tables/object_table.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

// GoogleTest calls these functions to print a mismatch.
inline void PrintTo(ObjectId id, std::ostream* out) {
  *out << to_number(id);
}
inline void PrintTo(const Neighbor& neighbor, std::ostream* out) {
  *out << "{object " << to_number(neighbor.object) << ", d^2 " << to_number(neighbor.key) << "}";
}
inline void PrintTo(const NeighborState& state, std::ostream* out) {
  *out << "{" << state.position.x << ", " << state.position.y << ", " << state.position.z
       << ", tags " << state.tags << "}";
}

namespace test {

inline ObjectUpdate fix(ObjectId id, std::int64_t time_us, const LatticePoint& position) {
  ObjectUpdate update;
  update.id = id;
  update.time_us = time_us;
  update.position = position;
  return update;
}

inline ObjectUpdate fix(ObjectId id, std::int64_t time_us, std::int32_t x, std::int32_t y = 0) {
  return fix(id, time_us, LatticePoint{x, y, 0});
}

inline ObjectUpdate tagged(ObjectUpdate update, std::uint32_t tags) {
  update.tags = tags;
  update.has_tags = true;
  return update;
}

inline Neighbor at(ObjectId id, std::uint64_t distance_sq) {
  return {RankKey{distance_sq}, id};
}

inline Anchor fixed_at(const LatticePoint& position) {
  Anchor anchor;
  anchor.position = position;
  return anchor;
}

inline Anchor fixed_at(std::int32_t x, std::int32_t y = 0) {
  return fixed_at(LatticePoint{x, y, 0});
}

inline Anchor follow(ObjectId id) {
  Anchor anchor;
  anchor.kind = AnchorKind::follow;
  anchor.object = id;
  return anchor;
}

inline Anchor every_object() {
  Anchor anchor;
  anchor.kind = AnchorKind::every_object;
  return anchor;
}

inline Filter with_tags(std::uint32_t required, std::uint32_t forbidden) {
  Filter filter;
  filter.tags = {required, forbidden};
  return filter;
}

inline Filter within(std::uint64_t distance_sq_max) {
  Filter filter;
  filter.key_max = RankKey{distance_sq_max};
  return filter;
}

inline Filter no_older_than(std::int64_t age_us_max) {
  Filter filter;
  filter.age_us_max = age_us_max;
  return filter;
}

inline QueryDefinition query(std::uint64_t id, std::uint32_t k, const Anchor& anchor,
                             const Filter& filter = {}) {
  QueryDefinition definition;
  definition.id = QueryId{id};
  definition.k = k;
  definition.anchor = anchor;
  definition.filter = filter;
  return definition;
}

inline StreamDefinition stream(std::string name, ReportOn on = ReportOn::order,
                               ReportWith with = {}) {
  StreamDefinition definition;
  definition.name = std::move(name);
  definition.on = on;
  definition.with = with;
  return definition;
}

}  // namespace test
}  // namespace starling
