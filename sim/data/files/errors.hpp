// SPDX-License-Identifier: Apache-2.0
// This file defines the errors of input files and flags, and the place in a file that an error
// names. All readers and writers throw these errors; the commands print them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace starling::sim {

/// A value's text and its place in the file. Line and column count from 1; the column counts bytes.
struct Field {
  std::string_view text;
  std::uint64_t line = 0;
  std::uint64_t column = 0;
};

/// An input that cannot be read further. The message is "FILE:LINE:COLUMN: sentence", or "FILE:
/// sentence" if no line is known, as in binary files.
class InputError : public std::runtime_error {
 public:
  explicit InputError(const std::string& sentence) : std::runtime_error(sentence) {}
  InputError(std::string_view file, std::uint64_t line, std::uint64_t column,
             std::string_view sentence);
};

/// A file that is no text, such as an archive or a picture.
class NoTextError : public InputError {
 public:
  using InputError::InputError;
};

/// An option that has a wrong form, or that contradicts an input or another option.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace starling::sim
