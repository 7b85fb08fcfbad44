// SPDX-License-Identifier: Apache-2.0
// Names the wrong argument in each refusal: see inputs.hpp.
#include "starling/clients/c/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "starling/clients/c/structs.hpp"
#include "starling/protocol/wire/check.hpp"

namespace starling::c {
namespace {

static_assert(STARLING_ROW_LATE == static_cast<int>(protocol::RowReason::late));
static_assert(STARLING_ROW_TOO_MANY_NAMES_OF_PRINCIPAL ==
              static_cast<int>(protocol::last_row_reason));
static_assert(STARLING_VECTOR == static_cast<int>(Space::vector));
static_assert(STARLING_KULLBACK_LEIBLER == static_cast<int>(Metric::kullback_leibler));
static_assert(STARLING_EVERY_OBJECT == static_cast<int>(AnchorKind::every_object));
static_assert(STARLING_ON_DISTANCE == static_cast<int>(ReportOn::distance));
static_assert(STARLING_WEIGHTS_DISTANCE == static_cast<int>(RegressionWeights::distance));
static_assert(STARLING_NO_LABEL == no_label);

/// Throws FailureError unless 0 <= value <= last.
void check_enum(std::int32_t value, std::int32_t last, const std::string& what) {
  if (value < 0 || value > last)
    fail(STARLING_INVALID_ARGUMENT, what + " is " + std::to_string(value) + "; it must be 0 to " +
                                        std::to_string(last) + ", see starling.h.");
}

void refuse(std::optional<protocol::Problem> problem) {
  if (problem) fail(*problem);
}

/// Throws FailureError if the query does not fit the space or the way it is asked: a fixed query
/// without a vector in a vector space, a vote or mean in any other space, or a question for every
/// object.
void check_space(const starling_query& query, const std::string& what, Asked asked,
                 const protocol::Limits& limits) {
  const bool is_vector = limits.space == Space::vector;
  if (is_vector && query.anchor == STARLING_FIXED && query.vector == nullptr)
    fail(STARLING_INVALID_ARGUMENT, what + ".vector is NULL; a fixed query in a vector space has " +
                                        std::to_string(limits.dimension) + " components.");
  if (!is_vector && (query.vote != 0 || query.regress != STARLING_WEIGHTS_NONE))
    fail(STARLING_INVALID_ARGUMENT,
         what + " asks for a vote or a mean, which only vector spaces have.");
  if (asked == Asked::once && query.anchor == STARLING_EVERY_OBJECT)
    fail(STARLING_INVALID_ARGUMENT,
         what +
             ".anchor is every object; a question that is asked once has a fixed anchor or "
             "follows one object.");
}

protocol::QuerySpec spec_of(const starling_query& query, const protocol::Limits& limits) {
  constexpr std::int64_t us_per_ms = 1000;
  protocol::QuerySpec spec{.id = QueryId{query.id},
                           .k = query.k,
                           .anchor = static_cast<AnchorKind>(query.anchor),
                           .object = ObjectId{query.object},
                           .tags = {query.tags_required, query.tags_forbidden},
                           .distance_max_m = query.distance_max,
                           .age_max_us = query.age_max_us,
                           .subject = {query.subject_required, query.subject_forbidden},
                           // Rounded up: a lease never ends early.
                           .lease_ms = static_cast<std::uint64_t>(query.lease_us / us_per_ms) +
                                       (query.lease_us % us_per_ms != 0 ? 1 : 0),
                           .vote = query.vote != 0,
                           .regress = static_cast<RegressionWeights>(query.regress)};
  if (spec.anchor != AnchorKind::fixed) return spec;
  if (limits.space == Space::vector)
    spec.vector.assign(query.vector, query.vector + limits.dimension);
  else
    std::copy_n(query.position, spec.position.size(), spec.position.begin());
  return spec;
}

}  // namespace

std::string text_of(const char* text, const char* what) {
  if (text == nullptr) fail(STARLING_INVALID_ARGUMENT, std::string(what) + " is NULL.");
  return text;
}

Rows::Rows(const starling_rows* rows, const SpaceOptions& space) : is_vector_(space.is_vector()) {
  const starling_rows given = read_struct(rows, "rows");
  const std::uint32_t most =
      is_vector_ ? space.dimension : static_cast<std::uint32_t>(dimensions(space.space));
  const std::uint32_t least = space.space == Space::wgs84 ? 2 : most;
  if (given.components < least || given.components > most)
    fail(STARLING_INVALID_ARGUMENT,
         "rows.components is " + std::to_string(given.components) + "; a row of this space has " +
             (least == most ? "" : std::to_string(least) + " or ") + std::to_string(most) + ".");
  if (!is_vector_ && (given.labels != nullptr || given.values != nullptr))
    fail(STARLING_INVALID_ARGUMENT, "rows has labels or values, which only vector spaces have.");
  if (given.coordinates != nullptr && given.coordinates_f32 != nullptr)
    fail(STARLING_INVALID_ARGUMENT,
         "rows has both coordinates and coordinates_f32; give one of them.");
  components_ = given.components;
  time_us_ = given.time_us;
  ids_ = array_of(given.ids, given.count, "rows.ids");
  const auto optional = [&](auto& member, const auto* array, const char* what) {
    if (array != nullptr) member = array_of(array, given.count, what);
  };
  optional(times_us_, given.times_us, "rows.times_us");
  optional(tags_, given.tags, "rows.tags");
  optional(labels_, given.labels, "rows.labels");
  optional(values_, given.values, "rows.values");
  if (given.coordinates_f32 != nullptr)
    coordinates_f32_ =
        array_of(given.coordinates_f32, given.count * components_, "rows.coordinates_f32");
  else
    coordinates_ = array_of(given.coordinates, given.count * components_, "rows.coordinates");
}

protocol::UpdateBatch Rows::batch(std::uint64_t first, std::uint64_t count) {
  const auto part = [&](auto all, std::size_t width = 1) {
    return all.empty() ? all : all.subspan(first * width, count * width);
  };
  auto times_us = part(times_us_);
  if (times_us.empty() && count > 0) {
    same_times_us_.resize(count, time_us_);
    times_us = std::span<const std::int64_t>(same_times_us_).first(count);
  }
  return {.ids = part(ids_),
          .times_us = times_us,
          .components = is_vector_ ? std::uint8_t{2} : static_cast<std::uint8_t>(components_),
          .coordinates = part(coordinates_, components_),
          .coordinates_f32 = part(coordinates_f32_, components_),
          .tags = part(tags_),
          .dimension = is_vector_ ? static_cast<std::uint32_t>(components_) : 0,
          .labels = part(labels_),
          .values = part(values_)};
}

protocol::UpdateTags tags_of(std::uint64_t count, const std::uint64_t* ids,
                             const std::int64_t* times_us, const std::uint32_t* set,
                             const std::uint32_t* clear) {
  return {.ids = array_of(ids, count, "ids"),
          .times_us = array_of(times_us, count, "times_us"),
          .set = array_of(set, count, "set"),
          .clear = array_of(clear, count, "clear")};
}

protocol::RemoveObjects removals_of(std::uint64_t count, const std::uint64_t* ids,
                                    const std::int64_t* times_us) {
  return {.ids = array_of(ids, count, "ids"), .times_us = array_of(times_us, count, "times_us")};
}

std::string stream_name_of(const char* name) {
  std::string text = text_of(name, "stream");
  refuse(protocol::check_stream_name(text));
  return text;
}

protocol::PutStream stream_of(const starling_stream* stream) {
  const starling_stream given = read_struct(stream, "stream");
  stream_name_of(given.name);
  check_enum(given.on, STARLING_ON_DISTANCE, "stream.on");
  constexpr std::uint32_t all =
      STARLING_WITH_DISTANCE | STARLING_WITH_POSITION | STARLING_WITH_TAGS;
  if ((given.with & ~all) != 0)
    fail(STARLING_INVALID_ARGUMENT, "stream.with is " + std::to_string(given.with) +
                                        "; add up STARLING_WITH_DISTANCE, _POSITION and _TAGS.");
  return {.name = given.name,
          .on = static_cast<ReportOn>(given.on),
          .with = {.distance = (given.with & STARLING_WITH_DISTANCE) != 0,
                   .position = (given.with & STARLING_WITH_POSITION) != 0,
                   .tags = (given.with & STARLING_WITH_TAGS) != 0}};
}

std::vector<protocol::QuerySpec> queries_of(const starling_query* queries, std::uint64_t count,
                                            Asked asked, const protocol::Limits& limits) {
  std::vector<protocol::QuerySpec> specs;
  if (count == 0) return specs;
  const std::size_t stride = size_of(queries, "queries");
  if (count > limits.rows_max)
    fail(STARLING_INVALID_ARGUMENT, "There are " + std::to_string(count) +
                                        " queries; pass at most " +
                                        std::to_string(limits.rows_max) + " at once.");
  specs.reserve(count);
  const auto* bytes = reinterpret_cast<const unsigned char*>(queries);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string what = "Query " + std::to_string(i);
    const auto* const given = reinterpret_cast<const starling_query*>(bytes + i * stride);
    if (size_of(given, what.c_str()) != stride)
      fail(STARLING_INVALID_ARGUMENT,
           what + ".size differs from that of query 0; set the same sizeof in all of them.");
    const starling_query query = read_struct(given, what.c_str());
    check_enum(query.anchor, STARLING_EVERY_OBJECT, what + ".anchor");
    check_enum(query.regress, STARLING_WEIGHTS_DISTANCE, what + ".regress");
    if (query.lease_us < 0)
      fail(STARLING_INVALID_ARGUMENT,
           what + ".lease_us is negative; 0 means that the query stays until it is removed.");
    check_space(query, what, asked, limits);
    specs.push_back(spec_of(query, limits));
    refuse(protocol::in_row("Query", i, protocol::check_query(specs.back(), limits)));
  }
  return specs;
}

void Counts::add(protocol::RowReason reason) {
  if (reason == protocol::RowReason::none)
    ++accepted;
  else if (reason == protocol::RowReason::late)
    ++late;
  else
    ++rejected;
}

void check_counts(const starling_counts* counts) {
  if (counts != nullptr) size_of(counts, "counts");
}

void write_counts(starling_counts* counts, const Counts& from) {
  if (counts == nullptr) return;
  write_struct(
      counts, "counts",
      starling_counts{
          .size = 0, .accepted = from.accepted, .late = from.late, .rejected = from.rejected});
}

Space space_of(starling_space space) {
  check_enum(space, STARLING_VECTOR, "space");
  return static_cast<Space>(space);
}

Metric metric_of(starling_metric metric) {
  check_enum(metric, STARLING_KULLBACK_LEIBLER, "metric");
  return static_cast<Metric>(metric);
}

}  // namespace starling::c
