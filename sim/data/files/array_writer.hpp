// SPDX-License-Identifier: Apache-2.0
// Writes arrays of int64 or float64 numbers to .npy, or row by row to .ivecs or .fvecs. The writers
// of neighbour lists and votes use ArrayWriter.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "starling/sim/data/files/text_output.hpp"

namespace starling::sim {

struct ArrayShape {
  std::optional<std::uint64_t> rows;     ///< std::nullopt if not known yet
  std::optional<std::uint32_t> columns;  ///< std::nullopt: a one-dimensional array, in .npy only
};

/// `Number` is std::int64_t or double. std::int64_t is written as int64 to .npy and as int32 to
/// .ivecs; double is written as float64 to .npy and as float32 to .fvecs.
template <class Number>
class ArrayWriter {
 public:
  /// The file appears under its name when it is closed. Throws UsageError if the ending of `path`
  /// names no format that holds `Number`. The constructor and all members throw std::runtime_error
  /// if the file cannot be written.
  ArrayWriter(const std::string& path, const ArrayShape& shape);

  /// Appends whole rows: the size of `numbers` is a multiple of the number of columns.
  void write(std::span<const Number> numbers);
  /// finish() and close() do the same as TextOutput::finish() and TextOutput::close().
  void finish();
  void close() {
    finish();
    output_.close();
  }

 private:
  std::string npy_header() const;

  bool is_npy_;
  ArrayShape shape_;
  TextOutput output_;
  std::uint64_t rows_written_ = 0;
  std::string buffer_;
};

extern template class ArrayWriter<std::int64_t>;
extern template class ArrayWriter<double>;

}  // namespace starling::sim
