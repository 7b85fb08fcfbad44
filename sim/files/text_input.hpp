// SPDX-License-Identifier: Apache-2.0
// Reads the bytes of a file in order. Decompresses gzip and Zstandard files. All readers of text
// files read from a TextInput.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace starling::sim {

/// The number of bytes that readers ask for at a time.
#ifdef STARLING_FUZZ
inline constexpr std::size_t read_bytes = 64;  // short inputs then span several reads
#else
inline constexpr std::size_t read_bytes = 256 << 10;
#endif

class TextInput {
 public:
  /// Throws InputError if the file cannot be opened.
  explicit TextInput(std::string path);

  /// Reads from `text`, which must outlive this object. Errors name `path`.
  TextInput(std::string path, std::string_view text);

  ~TextInput();
  TextInput(const TextInput&) = delete;
  TextInput& operator=(const TextInput&) = delete;

  const std::string& path() const { return path_; }

  /// Fills the buffer and returns the number of bytes read, which is less than the buffer's size
  /// only at the end of the file. Throws InputError if the file is damaged or truncated.
  std::size_t read(std::span<char> buffer);

  /// The origin of the bytes: a plain or compressed file, or a text in memory. Source::read()
  /// behaves like TextInput::read().
  class Source {
   public:
    virtual ~Source() = default;
    virtual std::size_t read(std::span<char> buffer) = 0;
  };

 private:
  std::string path_;
  std::unique_ptr<Source> source_;
};

/// Returns `text` without a leading UTF-8 byte order mark.
std::string_view without_byte_order_mark(std::string_view text);

}  // namespace starling::sim
