// SPDX-License-Identifier: Apache-2.0
// Reads a text byte by byte and counts lines and columns. The JSON reader uses ByteReader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "starling/sim/data/files/text_input.hpp"

namespace starling::sim {

class ByteReader {
 public:
  static constexpr int end_of_file = -1;

  explicit ByteReader(TextInput& input) : input_(input), buffer_(read_bytes) {}

  const std::string& path() const { return input_.path(); }

  /// Return the line and the column of the next byte, both counted from 1. The column counts bytes.
  std::uint64_t line() const { return line_; }
  std::uint64_t column() const { return column_; }

  /// Returns the next byte without taking it, or end_of_file.
  int peek() {
    if (position_ == filled_ && !at_end_) {
      filled_ = input_.read(buffer_);
      position_ = 0;
      at_end_ = filled_ == 0;
    }
    return position_ == filled_ ? end_of_file : static_cast<unsigned char>(buffer_[position_]);
  }

  /// Moves past the byte that peek() returned.
  void take() {
    const char byte = buffer_[position_++];
    ++column_;
    if (byte == '\n' || byte == '\r') {
      if (byte == '\r' || !is_after_cr_) ++line_;
      column_ = 1;
    }
    is_after_cr_ = byte == '\r';
  }

 private:
  TextInput& input_;
  std::vector<char> buffer_;
  std::size_t position_ = 0;
  std::size_t filled_ = 0;
  bool at_end_ = false;
  bool is_after_cr_ = false;  ///< the last byte was CR; LF now ends the same line
  std::uint64_t line_ = 1;
  std::uint64_t column_ = 1;
};

}  // namespace starling::sim
