// Arrays of int64 or float64 numbers to .npy, or, row by row, to .ivecs or .fvecs. The writers of
// neighbour lists and votes stand on it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/files/text_output.hpp"

namespace starling::sim {

struct ArrayShape {
  std::optional<std::uint64_t> rows;     ///< if known beforehand
  std::optional<std::uint32_t> columns;  ///< none: numbers without a second axis, in .npy alone
};

/// `Number` is std::int64_t, for .npy (int64) and .ivecs (int32), or double, for .npy (float64) and
/// .fvecs (float32).
template <class Number>
class ArrayWriter {
 public:
  /// The file appears when it is closed. Throws UsageError if the name's ending is none of its
  /// formats, and std::runtime_error as do the members.
  ArrayWriter(const std::string& path, const ArrayShape& shape);

  /// Whole rows.
  void write(std::span<const Number> numbers);
  /// As TextOutput's.
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
