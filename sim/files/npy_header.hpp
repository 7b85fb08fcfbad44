// The header of NumPy's .npy, versions 1 to 3: which numbers follow, in what shape and order. The
// readers and writers of arrays use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/files/number_type.hpp"

namespace starling::sim {

struct NpyHeader {
  std::string type_name;  ///< as the file has it
  NumberType type;
  bool is_fortran_order = false;  ///< a column's numbers lie one behind the other, not a row's
  std::vector<std::uint64_t> shape;
  std::size_t size_bytes = 0;  ///< of the header: where the numbers begin
};

/// Reads the header that `file` begins with, and holds the file's size against it. Throws
/// TraceError with `path` on damage and on numbers that are not read.
NpyHeader parse_npy_header(std::span<const std::byte> file, const std::string& path);

/// A header of version 1, always of the same size, however large the shape is: a writer that learns
/// the number of rows last can put it in place.
std::string npy_header_text(std::string_view type_name, std::span<const std::uint64_t> shape);

}  // namespace starling::sim
