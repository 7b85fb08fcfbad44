// SPDX-License-Identifier: Apache-2.0
// Checks the caller's rows, queries and streams, and converts them to the requests of the wire. The
// functions for the engine and for the client both call these, so bad input gets the same sentence
// from both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "starling/clients/c/error.hpp"
#include "starling/clients/c/starling.h"
#include "starling/knn/words/space.hpp"
#include "starling/protocol/wire/limits.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::c {

/// Throws FailureError unless `array` has `count` entries: it may be NULL only if count is 0.
template <class Number>
std::span<const Number> array_of(const Number* array, std::uint64_t count, const char* what) {
  constexpr std::uint64_t entries_max = UINT64_C(1) << 48;
  if (count > entries_max)
    fail(STARLING_INVALID_ARGUMENT, std::string(what) + " would have " + std::to_string(count) +
                                        " entries, which is more than memory can hold.");
  if (array == nullptr && count > 0)
    fail(STARLING_INVALID_ARGUMENT, std::string(what) + " is NULL.");
  return {array, count};
}

std::string text_of(const char* text, const char* what);

/// Rows of the caller, checked against a space.
class Rows {
 public:
  /// Throws FailureError if an array is missing or does not fit the space. Does not read the rows.
  Rows(const starling_rows* rows, const SpaceOptions& space);

  std::uint64_t count() const { return ids_.size(); }
  /// Returns the rows [first, first + count) as a request. The request points to the caller's
  /// arrays and to memory of this object. It is valid until the next call.
  protocol::UpdateBatch batch(std::uint64_t first, std::uint64_t count);

 private:
  std::size_t components_ = 0;
  bool is_vector_ = false;
  std::span<const std::uint64_t> ids_;
  std::span<const std::int64_t> times_us_;
  std::int64_t time_us_ = 0;
  std::span<const double> coordinates_;
  std::span<const float> coordinates_f32_;
  std::span<const std::uint32_t> tags_;
  std::span<const std::int64_t> labels_;
  std::span<const double> values_;
  std::vector<std::int64_t> same_times_us_;
};

protocol::UpdateTags tags_of(std::uint64_t count, const std::uint64_t* ids,
                             const std::int64_t* times_us, const std::uint32_t* set,
                             const std::uint32_t* clear);
protocol::RemoveObjects removals_of(std::uint64_t count, const std::uint64_t* ids,
                                    const std::int64_t* times_us);

/// The result points to the caller's name.
protocol::PutStream stream_of(const starling_stream* stream);
/// Throws FailureError unless the text is a valid name of a stream.
std::string stream_name_of(const char* name);

enum class Asked : std::uint8_t { standing, once };

/// Throws FailureError with the number of the query (from 0) if a query is malformed.
std::vector<protocol::QuerySpec> queries_of(const starling_query* queries, std::uint64_t count,
                                            Asked asked, const protocol::Limits& limits);

/// The numbers of rows in starling_counts.
struct Counts {
  std::uint64_t accepted = 0;
  std::uint64_t late = 0;
  std::uint64_t rejected = 0;

  void add(protocol::RowReason reason);
};
/// Throws FailureError if `counts` is neither NULL nor a valid struct.
void check_counts(const starling_counts* counts);
void write_counts(starling_counts* counts, const Counts& from);

/// The next two functions throw FailureError for a number that starling.h does not define.
Space space_of(starling_space space);
Metric metric_of(starling_metric metric);

}  // namespace starling::c
