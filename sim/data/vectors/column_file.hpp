// SPDX-License-Identifier: Apache-2.0
// Reads files that have one number for each row of the points, from .npy or text. The readers of
// labels and of values use these functions.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "starling/sim/data/files/csv_reader.hpp"
#include "starling/sim/data/files/npy_header.hpp"

namespace starling::sim {

/// Words for error messages about the file.
struct ColumnWords {
  std::string_view items;   ///< such as "labels"
  std::string_view number;  ///< such as "integer"
};

/// Returns "PATH: row ROW (counted from 0)".
std::string place_of_row(const std::string& path, std::size_t row);
/// Returns "PATH:LINE:COLUMN: the number".
std::string place_of_field(const std::string& path, const Field& field);

/// Calls `begin` once, and then `take` for each row with the address of its number. Throws
/// InputError if the file cannot be read or its array has several columns.
void read_npy_column(const std::string& path, const ColumnWords& words,
                     const std::function<void(const NpyHeader&, std::size_t rows)>& begin,
                     const std::function<void(std::size_t row, const std::byte*)>& take);

/// Calls `take` with the field of each row, after an optional header. Throws InputError if the file
/// cannot be read or a row has several fields.
void read_csv_column(const std::string& path, const ColumnWords& words,
                     const std::function<void(const Field&)>& take);

}  // namespace starling::sim
