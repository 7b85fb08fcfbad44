// SPDX-License-Identifier: Apache-2.0
// Reads a text byte by byte and counts lines and columns. CsvReader and the JSON reader use
// ByteReader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "starling/sim/files/text_input.hpp"

namespace starling::sim {

class ByteReader {
 public:
  static constexpr int end_of_file = -1;

  /// Skips a UTF-8 byte order mark at the start of the text.
  explicit ByteReader(TextInput& input) : input_(input), buffer_(read_bytes) {
    peek();
    position_ = buffered().size() - without_byte_order_mark(buffered()).size();
  }

  const std::string& path() const { return input_.path(); }

  /// Return the line and the column of the next byte, both counted from 1. The column counts bytes.
  std::uint64_t line() const { return line_; }
  std::uint64_t column() const { return column_; }

  /// Returns the next byte without taking it, or end_of_file.
  int peek() {
    if (position_ == filled_ && !at_end_) {
      filled_ = input_.read(buffer_);
      position_ = 0;
      at_end_ = filled_ < buffer_.size();
    }
    return position_ == filled_ ? end_of_file : static_cast<unsigned char>(buffer_[position_]);
  }

  /// Moves past the byte that peek() returned.
  void take() {
    if (buffer_[position_++] == '\n') {
      ++line_;
      column_ = 1;
    } else {
      ++column_;
    }
  }

  /// Returns as many of the next bytes as the buffer already holds, without taking them.
  std::string_view buffered() const {
    return std::string_view(buffer_.data(), filled_).substr(position_);
  }

 private:
  TextInput& input_;
  std::vector<char> buffer_;
  std::size_t position_ = 0;
  std::size_t filled_ = 0;
  bool at_end_ = false;
  std::uint64_t line_ = 1;
  std::uint64_t column_ = 1;
};

}  // namespace starling::sim
