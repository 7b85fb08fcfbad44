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

/// What kind of change makes a stream report a list. Each level includes the one before it. If a
/// list is not reported, nothing of this kind changed in it.
enum class ReportOn : std::uint8_t {
  membership,  ///< an object entered or left
  order,       ///< ... or two swapped places
  distance,    ///< ... or a distance changed
};

/// What a reported neighbour carries in addition to its id.
struct ReportWith {
  bool distance = true;
  bool position = false;
  bool tags = false;
  bool operator==(const ReportWith&) const = default;
};

/// The longest name a stream may have.
inline constexpr std::size_t stream_name_bytes_max = 255;

/// Streams are numbered from 0 in the order in which they were first put. They are never removed.
enum class StreamId : std::uint32_t {};

struct StreamDefinition {
  std::string name;
  ReportOn on = ReportOn::order;
  ReportWith with{};
};

enum class AnchorKind : std::uint8_t {
  fixed,         ///< around a position
  follow,        ///< around an object, which is not in the list; empty while it is missing
  every_object,  ///< one list for each object that passes `subject`: the k-NN graph
};

struct Anchor {
  AnchorKind kind = AnchorKind::fixed;
  LatticePoint position{};  ///< fixed
  ObjectId object{};        ///< follow
};

struct QueryDefinition {
  static constexpr std::int64_t no_lease = std::numeric_limits<std::int64_t>::max();

  QueryId id{};
  std::uint32_t k = 1;  ///< 1 .. k_max
  Anchor anchor{};
  Filter filter{};
  TagFilter subject{};                   ///< every_object: the objects that have a list
  std::int64_t lease_end_us = no_lease;  ///< removed at the first tick with tau > lease end
  std::uint64_t owner = 0;  ///< the last writer, counted for QueryTableOptions::owner_queries_max
  /// For a fixed anchor in a vector space: the components, as many as the dimension of the space,
  /// prepared for its metric.
  std::vector<float> components{};
  /// Only in a vector space: reports carry the label that the objects of the list vote for
  /// (knn/vectors/vote.hpp). The list is also reported when this label changes, whatever the stream
  /// reports on.
  bool vote = false;
};

}  // namespace starling
