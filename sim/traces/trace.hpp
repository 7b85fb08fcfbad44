// The words of a trace: a row as it stands in a file, the row it becomes, and why one is skipped.
// Every reader, the replay and its summary speak in them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "knn/words/lattice.hpp"
#include "knn/words/types.hpp"

namespace starling::sim {

/// One position of one object, checked. The position keeps the file's numbers, so that an embedded
/// engine and a server round the same ones.
struct TraceRow {
  ObjectId id{};
  std::int64_t time_us = 0;
  Position
      position{};  ///< x, y, z in metres, or longitude, latitude in degrees, altitude in metres
  std::uint32_t tags = 0;
  bool has_tags = false;
};
static_assert(sizeof(TraceRow) == 48);

/// A value's text and its place in the file, both counted from 1; the column counts bytes.
struct Field {
  std::string_view text;
  std::uint64_t line = 0;
  std::uint64_t column = 0;
};

/// What a layout found in one record; an absent value has empty text. Valid during the callback.
struct RowText {
  Field id;
  Field time;
  Field x;  ///< or longitude
  Field y;  ///< or latitude
  Field z;  ///< or altitude
  Field tags;
};

enum class SkipReason : std::uint8_t {
  missing_field,
  unparsable,
  out_of_range,
  null_island,  ///< exactly 0, 0 in a geographic layout
  too_fast,     ///< beyond --max-speed-mps
};
inline constexpr std::size_t skip_reason_count = 5;

std::string_view to_string(SkipReason reason);

struct TraceCounts {
  std::uint64_t rows = 0;     ///< good ones
  std::uint64_t outside = 0;  ///< of those, outside the time asked for
  std::array<std::uint64_t, skip_reason_count> skipped{};

  std::uint64_t& operator[](SkipReason reason) { return skipped[static_cast<std::size_t>(reason)]; }
  std::uint64_t operator[](SkipReason reason) const {
    return skipped[static_cast<std::size_t>(reason)];
  }
  std::uint64_t skipped_total() const;
};

/// A trace or another input that cannot be read further: "FILE:LINE:COLUMN: sentence", or, of
/// binary files, "FILE: sentence".
class TraceError : public std::runtime_error {
 public:
  explicit TraceError(const std::string& sentence) : std::runtime_error(sentence) {}
  TraceError(std::string_view file, std::uint64_t line, std::uint64_t column,
             std::string_view sentence);
};

/// An option that contradicts itself, the trace, or another option.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace starling::sim
