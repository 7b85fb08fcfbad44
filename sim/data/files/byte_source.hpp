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

  /// Reads up to buffer.size() bytes and returns their number, which is 0 only at the end. Returns
  /// the bytes of a pipe as soon as some are there. Throws InputError if the bytes cannot be read,
  /// decompressed or decoded.
  virtual std::size_t read(std::span<char> buffer) = 0;
};

/// Shows the next bytes before they are read.
class LookAhead final : public ByteSource {
 public:
  explicit LookAhead(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  /// Returns the bytes that read() returns next: at least `bytes_min`, or all that are left. The
  /// view is valid until the next call of a member.
  std::string_view head(std::size_t bytes_min);
  std::size_t read(std::span<char> buffer) override;

 private:
  std::unique_ptr<ByteSource> source_;
  std::string ahead_;      ///< read from source_ for head()
  std::size_t taken_ = 0;  ///< number of bytes of ahead_ that read() has returned
};

/// Returns the name of `path` in errors: "the standard input" for "-", otherwise `path` itself.
std::string shown_path(const std::string& path);

/// Opens a file or a pipe; "-" is the standard input. Throws InputError if `path` cannot be opened
/// or is a directory. Errors of the source name `path`.
std::unique_ptr<ByteSource> open_file(const std::string& path);
/// `text` must outlive the source.
std::unique_ptr<ByteSource> make_memory_source(std::string_view text);

bool begins_gzip(std::string_view head);
/// Returns true for a data frame and for a skippable frame, which parallel compressors write first.
bool begins_zstd(std::string_view head);
/// The source may hold several gzip members or Zstandard frames, one after another.
std::unique_ptr<ByteSource> make_gzip_source(std::string path, std::unique_ptr<ByteSource> source);
std::unique_ptr<ByteSource> make_zstd_source(std::string path, std::unique_ptr<ByteSource> source);

enum class Utf16Order : std::uint8_t { little, big };
std::unique_ptr<ByteSource> make_utf16_source(std::string path, std::unique_ptr<ByteSource> source,
                                              Utf16Order order);

}  // namespace starling::sim
