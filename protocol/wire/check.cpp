// SPDX-License-Identifier: Apache-2.0
// Checks single values and arrays of a request, and writes the sentence of each refusal: see
// check.hpp.
#include "starling/protocol/wire/check.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "starling/knn/base/plain_text.hpp"
#include "starling/knn/base/times.hpp"
#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/space.hpp"

namespace starling::protocol {

Problem bad_value(std::string sentence) {
  return {ErrorCode::bad_value, std::move(sentence)};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (!character.is_valid) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

std::string readable(std::string_view text, std::size_t bytes_max) {
  return plain_text(text.substr(0, bytes_max));
}

std::optional<Problem> check_text(std::string_view what, std::string_view text,
                                  const ReachedLimit& limit) {
  const auto refuse = [&](const std::string& why) {
    return Problem{ErrorCode::bad_text, std::string(what) + " " + why + "; it must have 1 to " +
                                            to_string(limit) + " bytes of UTF-8 without NUL."};
  };
  if (text.empty()) return refuse("is empty");
  if (text.size() > limit.value) {
    Problem problem = refuse("has " + std::to_string(text.size()) + " bytes");
    problem.limit = limit;
    return problem;
  }
  if (text.find('\0') != std::string_view::npos) return refuse("has a NUL");
  if (!is_utf8(text)) return refuse("is not UTF-8");
  return std::nullopt;
}

std::optional<Problem> check_stream_name(std::string_view name) {
  return check_text("The stream's name", name, {"stream-name-bytes-max", stream_name_bytes_max});
}

std::optional<Problem> check_query(const QuerySpec& query, const Limits& limits) {
  if (query.k < 1 || query.k > limits.k_max) {
    const ReachedLimit limit{"k-max", limits.k_max};
    return Problem{
        ErrorCode::k_out_of_range,
        "k is " + std::to_string(query.k) + "; it must be 1 to " + to_string(limit) + ".",
        query.k < 1 ? ReachedLimit{} : limit};
  }
  const bool may_be_negative =
      limits.space == Space::vector && limits.metric == Metric::inner_product;
  if (may_be_negative && std::isnan(query.distance_max_m))
    return bad_value("distance_max_m is not a number; leave the field out for no limit.");
  if (!may_be_negative && !(query.distance_max_m >= 0))
    return bad_value(
        "distance_max_m is negative or not a number; leave the field out for no limit.");
  if (may_be_negative && query.regress == RegressionWeights::distance)
    return bad_value(
        "regress is distance, but an inner product may be negative, so it is no weight; use "
        "uniform.");
  if (query.age_max_us < 0)
    return bad_value("age_max_us is " + std::to_string(query.age_max_us) +
                     ", which is negative; leave the field out for no limit.");
  return std::nullopt;
}

std::optional<Problem> check_rectangle(const Rectangle& rectangle, Space space) {
  if (space == Space::vector)
    return bad_value(
        "A space of vectors has no rectangles; ask for objects by their ids, or for the nearest to "
        "a vector with GetNeighbors.");
  const auto& [x_min, y_min, x_max, y_max] = rectangle;
  if (std::isnan(x_min) || std::isnan(y_min) || std::isnan(x_max) || std::isnan(y_max))
    return bad_value("An edge of the rectangle is not a number.");
  if (y_min > y_max) return bad_value("The rectangle's y_min is greater than its y_max.");
  if (space != Space::wgs84) {
    if (x_min > x_max) return bad_value("The rectangle's x_min is greater than its x_max.");
    return std::nullopt;
  }
  if (std::abs(x_min) > 180 || std::abs(x_max) > 180)
    return bad_value(
        "The rectangle's x_min and x_max are longitudes, which are -180 to 180 degrees; a "
        "rectangle over the antimeridian has an x_min that is greater than its x_max.");
  if (std::abs(y_min) > 90 || std::abs(y_max) > 90)
    return bad_value("The rectangle's y_min and y_max are latitudes, which are -90 to 90 degrees.");
  return std::nullopt;
}

std::optional<Problem> check_tau(std::int64_t tau_us) {
  if (is_time(tau_us)) return std::nullopt;
  return bad_value("tau_us is " + std::to_string(tau_us) +
                   "; it must lie between -2^61 and 2^61 microseconds.");
}

std::optional<Problem> in_row(std::string_view what, std::size_t row,
                              std::optional<Problem> refusal) {
  if (refusal)
    refusal->sentence = std::string(what) + " " + std::to_string(row) + ": " + refusal->sentence;
  return refusal;
}

std::optional<Problem> check_row_count(std::string_view what, std::uint64_t count,
                                       const ReachedLimit& limit) {
  if (count <= limit.value) return std::nullopt;
  return Problem{ErrorCode::too_many_rows,
                 "The request has " + std::to_string(count) + " " + std::string(what) +
                     "; at most " + to_string(limit) + " are allowed, so split it.",
                 limit};
}

std::optional<Problem> check_same_length(std::string_view name, std::size_t size,
                                         std::size_t rows) {
  if (size == rows) return std::nullopt;
  return Problem{ErrorCode::array_mismatch, "The request has " + std::to_string(rows) +
                                                " ids but " + std::to_string(size) + " " +
                                                std::string(name) + "; each id needs one."};
}

std::optional<Problem> check_none_or_same_length(std::string_view name, std::size_t size,
                                                 std::size_t rows) {
  return size == 0 ? std::nullopt : check_same_length(name, size, rows);
}

std::optional<Problem> check_row_columns(const UpdateBatch& batch) {
  const std::size_t rows = batch.ids.size();
  if (auto problem = check_none_or_same_length("row_columns", batch.row_columns.size(), rows))
    return problem;
  if (std::ranges::any_of(batch.row_columns,
                          [](auto columns) { return columns > all_row_columns; }))
    return Problem{ErrorCode::bad_value,
                   "A row has a bit in row_columns other than 1 (tags), 2 (label) and 4 (value)."};
  const auto check = [&](std::string_view name, std::size_t size,
                         RowColumn column) -> std::optional<Problem> {
    if (batch.row_columns.empty()) return check_none_or_same_length(name, size, rows);
    const std::size_t needed = entries_in(batch, column, 0, rows);
    if (size == needed) return std::nullopt;
    return Problem{ErrorCode::array_mismatch,
                   "The array " + std::string(name) + " has " + std::to_string(size) +
                       " entries, and row_columns names it in " + std::to_string(needed) +
                       " rows; send one entry for each of these rows."};
  };
  if (auto problem = check("tags", batch.tags.size(), tags_column)) return problem;
  if (auto problem = check("labels", batch.labels.size(), label_column)) return problem;
  return check("values", batch.values.size(), value_column);
}

std::optional<Problem> check_coordinates(const UpdateBatch& batch) {
  if (!batch.coordinates.empty() && !batch.coordinates_f32.empty())
    return Problem{ErrorCode::array_mismatch,
                   "The batch has coordinates and coordinates_f32; send one of them."};
  const std::size_t size = batch.coordinates.size() + batch.coordinates_f32.size();
  const std::size_t needed = batch.ids.size() * batch.components_a_row();
  if (size == needed) return std::nullopt;
  return Problem{ErrorCode::array_mismatch, "The batch has " + std::to_string(size) +
                                                " coordinates; " +
                                                std::to_string(batch.ids.size()) + " ids of " +
                                                std::to_string(batch.components_a_row()) +
                                                " components need " + std::to_string(needed) + "."};
}

}  // namespace starling::protocol
