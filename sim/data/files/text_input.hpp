// SPDX-License-Identifier: Apache-2.0
// Reads the text of a file or a pipe in order. Decompresses gzip and Zstandard, and converts UTF-16
// to UTF-8. Refuses a file that is not text, with an error that names the file's format. All
// readers of text files use TextInput.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/sim/data/files/byte_source.hpp"

namespace starling::sim {

/// The number of bytes that readers ask for at a time.
#ifdef STARLING_FUZZ
inline constexpr std::size_t read_bytes = 64;  // short inputs then span several reads
#else
inline constexpr std::size_t read_bytes = 256 << 10;
#endif

class TextInput {
 public:
  /// Opens the file and reads its first bytes. Throws InputError if the file cannot be read or is
  /// no text: an archive, a spreadsheet or a table in a binary format.
  explicit TextInput(const std::string& path);

  /// Reads from `source`, as from a file. Errors name `path`.
  TextInput(const std::string& path, std::unique_ptr<ByteSource> source);

  /// Reads from `text`, which must outlive this object. Errors name `path`.
  TextInput(const std::string& path, std::string_view text);

  const std::string& path() const { return path_; }

  /// Reads some of the text, at most as much as the buffer holds, and returns the number of bytes:
  /// 0 only at the end. The text has no byte order mark. Throws InputError if the file is damaged
  /// or truncated.
  std::size_t read(std::span<char> buffer) { return source_->read(buffer); }

  /// Returns the text that read() returns next: at least `bytes_min` bytes, or all that is left.
  /// The view is valid until the next call of a member.
  std::string_view head(std::size_t bytes_min) { return source_->head(bytes_min); }

  /// Returns the encodings that were undone to get the text, outermost first, for example gzip and
  /// UTF-16.
  const std::vector<std::string_view>& undone() const { return undone_; }

 private:
  void decompress();
  void decode();

  std::string path_;
  std::unique_ptr<LookAhead> source_;
  std::vector<std::string_view> undone_;
};

}  // namespace starling::sim
