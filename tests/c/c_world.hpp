// SPDX-License-Identifier: Apache-2.0
// Objects that move on integer metres in planar2, and a plain search that sorts all of them. The
// tests of the C interface compare Starling's lists with the lists of this search.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <starling.h>

#include "tests/support/random.hpp"

namespace starling::test {

struct CPlace {
  std::int64_t x = 0;
  std::int64_t y = 0;
};

struct CNeighbor {
  std::uint64_t id = 0;
  double distance_m = 0;
  bool operator==(const CNeighbor&) const = default;
};

class CWorld {
 public:
  CWorld(std::uint64_t seed, std::uint64_t objects) : random_(seed) {
    for (std::uint64_t id = 1; id <= objects; ++id) ids_.push_back(id);
    move(0);
  }

  /// Moves every object to a random place, at time `time_us`.
  void move(std::int64_t time_us) {
    places_.clear();
    coordinates_.clear();
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      places_.push_back({random_.between(-50, 50), random_.between(-50, 50)});
      coordinates_.push_back(static_cast<double>(places_.back().x));
      coordinates_.push_back(static_cast<double>(places_.back().y));
    }
    time_us_ = time_us;
  }

  /// Returns all objects as rows of the interface. The rows' pointers point into this CWorld.
  starling_rows rows() const {
    starling_rows rows{};
    rows.size = sizeof(rows);
    rows.count = ids_.size();
    rows.ids = ids_.data();
    rows.time_us = time_us_;
    rows.coordinates = coordinates_.data();
    rows.components = 2;
    return rows;
  }

  /// Ids are 1, 2, 3, ...
  CPlace place_of(std::uint64_t id) const { return places_[id - 1]; }

  /// Returns the k nearest objects, by exact squares and then by id.
  std::vector<CNeighbor> nearest(CPlace to, std::size_t k) const {
    std::vector<std::tuple<std::int64_t, std::uint64_t>> all;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      const std::int64_t dx = places_[i].x - to.x;
      const std::int64_t dy = places_[i].y - to.y;
      all.emplace_back(dx * dx + dy * dy, ids_[i]);
    }
    std::ranges::sort(all);
    all.resize(std::min(k, all.size()));
    std::vector<CNeighbor> list;
    for (const auto& [square, id] : all)
      list.push_back({id, std::sqrt(static_cast<double>(square))});
    return list;
  }

 private:
  Random random_;
  std::vector<std::uint64_t> ids_;
  std::vector<CPlace> places_;
  std::vector<double> coordinates_;
  std::int64_t time_us_ = 0;
};

/// The lists of fixed and following queries by query id, as a reader has them after it applied
/// results.
using CLists = std::map<std::uint64_t, std::vector<CNeighbor>>;

inline void expect_near_equal(const std::vector<CNeighbor>& is,
                              const std::vector<CNeighbor>& wanted) {
  ASSERT_EQ(is.size(), wanted.size());
  for (std::size_t i = 0; i < is.size(); ++i) {
    EXPECT_EQ(is[i].id, wanted[i].id) << "rank " << i + 1;
    // The product computes sqrt(square) * resolution with squares of centimetres.
    EXPECT_NEAR(is[i].distance_m, wanted[i].distance_m, 1e-12 * wanted[i].distance_m);
  }
}

/// Applies the lists of the result's stream `index` to `held`, and destroys the result.
inline void apply(starling_result* result, CLists& held, bool replaces = false,
                  std::uint64_t index = 0) {
  starling_lists lists{};
  lists.size = sizeof(lists);
  ASSERT_EQ(starling_result_lists(result, index, &lists), STARLING_OK);
  if (replaces) held.clear();
  for (std::uint64_t i = 0; i < lists.list_count; ++i) {
    if (lists.events[i] == STARLING_LIST_REMOVED) {
      held.erase(lists.query_ids[i]);
      continue;
    }
    auto& list = held[lists.query_ids[i]];
    list.clear();
    for (std::uint64_t entry = lists.offsets[i]; entry < lists.offsets[i + 1]; ++entry)
      list.push_back({lists.object_ids[entry], lists.distances[entry]});
  }
  EXPECT_EQ(starling_result_destroy(result), STARLING_OK);
}

/// Returns `is_unknown` of the answers, or an empty vector if it is NULL. Destroys the result.
inline std::vector<std::uint8_t> unknown_of(starling_result* result) {
  starling_lists lists{};
  lists.size = sizeof(lists);
  EXPECT_EQ(starling_result_lists(result, 0, &lists), STARLING_OK);
  std::vector<std::uint8_t> unknown;
  if (lists.is_unknown != nullptr)
    unknown.assign(lists.is_unknown, lists.is_unknown + lists.list_count);
  EXPECT_EQ(starling_result_destroy(result), STARLING_OK);
  return unknown;
}

inline starling_query query_at(std::uint64_t id, std::uint32_t k, CPlace place) {
  starling_query query{};
  EXPECT_EQ(starling_query_init(&query, sizeof(query)), STARLING_OK);
  query.id = id;
  query.k = k;
  query.position[0] = static_cast<double>(place.x);
  query.position[1] = static_cast<double>(place.y);
  return query;
}

/// A question that follows `object` and finds no neighbour, because no object has a tag.
inline starling_query alone(std::uint64_t object) {
  starling_query query = query_at(0, 2, {});
  query.anchor = STARLING_FOLLOW;
  query.object = object;
  query.distance_max = 0;
  query.tags_required = 1;
  return query;
}

inline starling_error last_error() {
  starling_error error{};
  error.size = sizeof(error);
  EXPECT_EQ(starling_last_error(&error), STARLING_OK);
  return error;
}

}  // namespace starling::test
