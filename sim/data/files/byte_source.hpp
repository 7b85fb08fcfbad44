// SPDX-License-Identifier: Apache-2.0
// The origins of a text's bytes: a file or a pipe, a text in memory, and decoders of gzip,
// Zstandard and UTF-16. TextInput puts the decoders on top of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace starling::sim {

class ByteSource {
 public:
  ByteSource() = default;
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Reads some bytes, at most as many as the buffer holds, and returns their number: 0 only at the
  /// end. Bytes of a pipe come as soon as they are there. Throws InputError if the bytes cannot be
  /// read or undone.
  virtual std::size_t read(std::span<char> buffer) = 0;
};

/// Shows the next bytes before they are read.
class LookAhead final : public ByteSource {
 public:
  explicit LookAhead(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  /// Returns the bytes that read() returns next: at least `bytes_min`, or all that there are. Valid
  /// until the next call of a member.
  std::string_view head(std::size_t bytes_min);
  std::size_t read(std::span<char> buffer) override;

 private:
  std::unique_ptr<ByteSource> source_;
  std::string ahead_;      ///< read from source_ for head()
  std::size_t taken_ = 0;  ///< bytes of ahead_ that read() has returned
};

/// Returns how errors name a path: "-" is the standard input.
std::string shown_path(const std::string& path);

/// Opens a file or a pipe; "-" is the standard input. Throws InputError if that fails, or if it is
/// a directory. Errors of these sources name `path`.
std::unique_ptr<ByteSource> open_file(const std::string& path);
/// `text` must outlive the source.
std::unique_ptr<ByteSource> make_memory_source(std::string_view text);

bool begins_gzip(std::string_view head);
/// Returns true for a data frame and for a skippable frame, which parallel compressors write first.
bool begins_zstd(std::string_view head);
/// Several gzip members, or Zstandard frames, may follow one another.
std::unique_ptr<ByteSource> make_gzip_source(std::string path, std::unique_ptr<ByteSource> source);
std::unique_ptr<ByteSource> make_zstd_source(std::string path, std::unique_ptr<ByteSource> source);

enum class Utf16Order : std::uint8_t { little, big };
std::unique_ptr<ByteSource> make_utf16_source(std::string path, std::unique_ptr<ByteSource> source,
                                              Utf16Order order);

}  // namespace starling::sim
