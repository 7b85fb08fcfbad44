// Standing queries and the streams they report to, as users define them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// What kind of change makes a stream report a list. Each level includes the one before: silence
/// promises that nothing of this kind changed.
enum class ReportOn : std::uint8_t {
  membership,  ///< an object entered or left
  order,       ///< ... or two swapped places
  distance,    ///< ... or a distance changed
};

/// What a reported neighbour carries beside its id.
struct ReportWith {
  bool distance = true;
  bool position = false;
  bool tags = false;
  bool operator==(const ReportWith&) const = default;
};

/// The longest name a stream may have.
inline constexpr std::size_t stream_name_bytes_max = 255;

struct StreamDefinition {
  std::string name;
  ReportOn on = ReportOn::order;
  ReportWith with{};
};

enum class AnchorKind : std::uint8_t {
  fixed,         ///< a position
  follow,        ///< an object, which its own list excludes; empty while the object is missing
  every_object,  ///< one list per object that passes `subject`: the k-NN graph
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
  TagFilter subject{};                   ///< every_object: whose lists are kept
  std::int64_t lease_end_us = no_lease;  ///< removed at the first tick with tau > lease end
  std::uint64_t owner = 0;  ///< who put it last, for QueryTableOptions::owner_queries_max
  /// At a fixed place in a vector space: as many as its dimension, prepared for its metric.
  std::vector<float> components{};
  /// In a vector space: reports carry the label that the list's objects vote for
  /// (knn/vectors/vote.hpp), and the list is also reported when that changes, whatever its stream
  /// reports on.
  bool vote = false;
};

}  // namespace starling
