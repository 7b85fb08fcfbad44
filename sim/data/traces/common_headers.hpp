// SPDX-License-Identifier: Apache-2.0
// Finds the columns of a CSV file by names in common use, such as id,time,lat,lon. Trace uses these
// functions for files that no published layout recognises.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "starling/knn/base/time_text.hpp"
#include "starling/sim/data/traces/columns.hpp"

namespace starling::sim {

struct CommonColumns {
  Columns columns;
  /// Set if the name of the time's column says the unit, as time_us does.
  std::optional<TimeUnit> time_unit;
};

/// Returns the columns for the id, the time and the position, and those for altitude and tags if
/// there are any. Ignores other columns and letter case. Returns std::nullopt if id, time or
/// position is missing, or if several columns could be meant.
std::optional<CommonColumns> find_common_columns(std::span<const std::string> header);

/// Returns why find_common_columns() returns std::nullopt, as the beginning of a sentence: "its
/// header has no column for the time". Returns an empty text if the header has no known name.
std::string fault_of_header(std::span<const std::string> header);

/// Returns the names that find_common_columns() knows, for a message.
std::string common_column_names();

/// What a CSV column or a GeoJSON property holds, according to its name.
enum class CommonColumn : std::uint8_t { id, time, date, tags, other };
CommonColumn common_column_of(std::string_view name);

}  // namespace starling::sim
