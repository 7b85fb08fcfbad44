// SPDX-License-Identifier: Apache-2.0
// Reads and writes the header of NumPy's .npy format, versions 1 to 3. The header gives the type,
// the shape and the order of the numbers that follow. The readers and writers of arrays use these
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/sim/data/files/number_type.hpp"

namespace starling::sim {

struct NpyHeader {
  std::string type_name;  ///< the type's name in the file
  NumberType type;
  bool is_fortran_order = false;  ///< true: column-major; false: row-major
  std::vector<std::uint64_t> shape;
  std::size_t size_bytes = 0;  ///< size of the header, which is the offset of the first number
};

/// Parses the header at the start of `file` and checks that the file's size matches the header.
/// Throws InputError, naming `path`, if the header is damaged, if the size does not match, or if
/// the elements are of a type that Starling does not read.
NpyHeader parse_npy_header(std::span<const std::byte> file, const std::string& path);

/// Returns a header of version 1. The size of the header does not depend on `shape`. Therefore a
/// writer that knows the number of rows only at the end can overwrite the header.
std::string npy_header_text(std::string_view type_name, std::span<const std::uint64_t> shape);

}  // namespace starling::sim
