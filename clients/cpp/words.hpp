// SPDX-License-Identifier: Apache-2.0
// The types that programs fill in and pass to starling.hpp: spaces, options, rows, streams and
// queries.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include <starling.h>

#include "starling/clients/cpp/error.hpp"

namespace starling {
inline namespace v0 {

enum class Space : starling_space {
  planar2 = STARLING_PLANAR2,  ///< x, y in metres
  planar3 = STARLING_PLANAR3,  ///< x, y, z in metres
  wgs84 = STARLING_WGS84,      ///< longitude, latitude in degrees, altitude in metres
  vector = STARLING_VECTOR,    ///< float32 components
};

/// docs/vectors.md defines the metrics.
enum class Metric : starling_metric {
  l2 = STARLING_L2,
  cosine = STARLING_COSINE,
  pearson = STARLING_PEARSON,
  hellinger = STARLING_HELLINGER,
  inner_product = STARLING_INNER_PRODUCT,
  l1 = STARLING_L1,
  chebyshev = STARLING_CHEBYSHEV,
  jensen_shannon = STARLING_JENSEN_SHANNON,
  kullback_leibler = STARLING_KULLBACK_LEIBLER,
};

enum class Backend : starling_backend {
  automatic = STARLING_BACKEND_AUTO,  ///< cuda if its library and the GPU are available, else cpu
  cpu = STARLING_BACKEND_CPU,
  cuda = STARLING_BACKEND_CUDA,
};

/// When a stream reports a list.
enum class ReportOn : starling_report_on {
  membership = STARLING_ON_MEMBERSHIP,  ///< an object entered or left
  order = STARLING_ON_ORDER,            ///< membership, or two objects swapped places
  distance = STARLING_ON_DISTANCE,      ///< order, or a distance changed
};

enum class Weights : starling_weights {
  none = STARLING_WEIGHTS_NONE,
  uniform = STARLING_WEIGHTS_UNIFORM,
  distance = STARLING_WEIGHTS_DISTANCE,
};

/// Returns the wall clock in microseconds since 1970, the time of rows and ticks without a time.
inline std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// A position: metres, or in wgs84 degrees of longitude and latitude, and metres of altitude.
/// Space::planar2 does not read z.
struct Position {
  double x = 0;
  double y = 0;
  double z = 0;
};

/// An option without a value has the library's default.
struct EngineOptions {
  Space space = Space::planar2;
  /// Lattice spacing to which positions are rounded; 1 cm by default.
  std::optional<double> resolution_m{};
  Position origin{};            ///< metres, subtracted from positions first; zeros for wgs84
  std::uint32_t dimension = 0;  ///< 1 to 4096 in a vector space, else 0
  Metric metric = Metric::l2;   ///< read in vector spaces only
  Backend backend = Backend::automatic;
  std::int32_t device = 0;           ///< the number of the GPU
  std::uint32_t threads = 0;         ///< threads that compute on the CPU; 0: one per core
  std::uint32_t update_threads = 1;  ///< threads that take rows
  std::optional<std::uint64_t> objects_max{};
  std::optional<std::uint64_t> queries_max{};
  std::optional<std::uint64_t> neighbors_max{};  ///< neighbours of all lists together
  std::optional<std::int64_t> object_ttl_us{};   ///< age at which an object expires; default: never
  std::optional<std::int64_t> tombstone_ttl_us{};  ///< how long a removal keeps late rows out
};

/// Objects that are updated together. All arrays may be empty, except `ids` and one array of
/// coordinates.
struct Rows {
  std::span<const std::uint64_t> ids{};   ///< n
  std::span<const double> coordinates{};  ///< n rows of 2 or 3 numbers
  /// float32 coordinates instead of `coordinates`; in a vector space n * dimension components.
  std::span<const float> coordinates_f32{};
  std::span<const std::int64_t> times_us{};  ///< n; empty: now
  std::span<const std::uint32_t> tags{};     ///< n; empty: tags stay as they are
  std::span<const std::int64_t> labels{};    ///< n; empty: labels stay; only in a vector space
  std::span<const double> values{};          ///< n; empty: values stay; only in a vector space
};

/// A standing query, or a question that is asked once. It stands at `at` (in a vector space at
/// `vector`), follows an object, or gives every object a list.
struct Query {
  std::uint64_t id = 0;  ///< unique within its stream; ignored in questions
  std::uint32_t k = 1;   ///< 1 to 1024
  Position at{};
  std::span<const float> vector{};
  std::optional<std::uint64_t> follow{};  ///< the object to follow; its list excludes it
  bool every_object = false;
  std::uint32_t tags_required = 0;   ///< neighbours have all of these bits
  std::uint32_t tags_forbidden = 0;  ///< neighbours have none of these bits
  double distance_max = std::numeric_limits<double>::infinity();
  std::int64_t age_max_us = std::numeric_limits<std::int64_t>::max();
  std::uint32_t subject_required = 0;  ///< bits of the objects that get a list
  std::uint32_t subject_forbidden = 0;
  std::int64_t lease_us = 0;        ///< how long the query stays; 0: until it is removed
  bool vote = false;                ///< lists have the label that they vote for; in vector spaces
  Weights regress = Weights::none;  ///< lists have the mean of their values; in vector spaces
};

/// When a stream reports a list, and what lists have besides ids.
struct StreamOptions {
  ReportOn on = ReportOn::order;
  bool with_distance = true;
  bool with_position = false;
  bool with_tags = false;
};

}  // namespace v0
}  // namespace starling
