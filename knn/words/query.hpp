// SPDX-License-Identifier: Apache-2.0
// Standing queries and the streams that they report to, as users define them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// The changes of a list that make a stream report the list. Each value includes the changes of the
/// values before it. If a stream does not report a list at a tick, none of these changes has
/// happened to the list.
enum class ReportOn : std::uint8_t {
  membership,  ///< an object entered or left
  order,       ///< ... or two objects swapped places
  distance,    ///< ... or a distance changed
};

/// What a reported neighbour carries in addition to its id.
struct ReportWith {
  bool distance = true;
  bool position = false;
  bool tags = false;
  bool operator==(const ReportWith&) const = default;
};

/// The largest number of bytes in a stream's name.
inline constexpr std::size_t stream_name_bytes_max = 255;

/// Streams are numbered from 0 in the order in which they were first put. A new stream may get the
/// number of a removed stream.
enum class StreamId : std::uint32_t {};

struct StreamDefinition {
  std::string name;
  ReportOn on = ReportOn::order;
  ReportWith with{};
  /// A number that identifies the client that first put the stream. Later puts do not change it.
  std::uint64_t owner = 0;
};

enum class AnchorKind : std::uint8_t {
  fixed,         ///< around a position
  follow,        ///< around an object, which is not in the list; empty if the object is missing
  every_object,  ///< one list for each object that passes `subject`: the k-NN graph
};

struct Anchor {
  AnchorKind kind = AnchorKind::fixed;
  LatticePoint position{};  ///< only for a fixed anchor
  ObjectId object{};        ///< only if the anchor follows an object
};

struct QueryDefinition {
  static constexpr std::int64_t no_lease = std::numeric_limits<std::int64_t>::max();

  QueryId id{};
  std::uint32_t k = 1;  ///< 1 .. k_max
  Anchor anchor{};
  Filter filter{};
  TagFilter subject{};                   ///< every_object: the objects that have a list
  std::int64_t lease_end_us = no_lease;  ///< the first tick with a later tau removes the query
  /// Identifies the client that last put the query; see QueryTableOptions::owner_queries_max.
  std::uint64_t owner = 0;
  /// For a fixed anchor in a vector space: the components, as many as the dimension of the space,
  /// prepared for its metric.
  std::vector<float> components{};
  /// Only for a vector space. If true, reports carry the label that the objects of the list vote
  /// for (knn/vectors/vote.hpp). The list is then also reported if only this label changes.
  bool vote = false;
  /// Only for a vector space. With uniform or distance, reports carry the mean of the values of the
  /// list's objects (knn/vectors/regression.hpp). The list is then also reported if only this
  /// mean changes. `distance` is refused for inner_product, whose distances may be negative.
  RegressionWeights regress = RegressionWeights::none;
};

}  // namespace starling
