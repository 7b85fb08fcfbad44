// SPDX-License-Identifier: Apache-2.0
// Reads with POSIX, zlib and libzstd: see byte_source.hpp.
#include "starling/sim/data/files/byte_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "starling/knn/base/descriptor.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/text_input.hpp"

namespace starling::sim {
namespace {

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path)
      : path_(shown_path(path)),
        descriptor_(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (!descriptor_.is_open())
      throw InputError(path_ + ": cannot be opened: " + std::strerror(errno));
  }

  std::size_t read(std::span<char> buffer) override {
    for (;;) {
      const ssize_t bytes = ::read(descriptor_.number(), buffer.data(), buffer.size());
      if (bytes >= 0) return static_cast<std::size_t>(bytes);
      if (errno == EISDIR) throw InputError(path_ + ": is a directory");
      if (errno != EINTR)
        throw InputError(path_ + ": cannot be read: " + std::string(std::strerror(errno)));
    }
  }

 private:
  std::string path_;
  Descriptor descriptor_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view text) : rest_(text) {}

  std::size_t read(std::span<char> buffer) override {
    const std::size_t bytes = rest_.copy(buffer.data(), buffer.size());
    rest_.remove_prefix(bytes);
    return bytes;
  }

 private:
  std::string_view rest_;
};

/// Reads a source block by block, for the decoders.
class Blocks {
 public:
  explicit Blocks(std::unique_ptr<ByteSource> source)
      : source_(std::move(source)), block_(read_bytes) {}

  /// Returns the next block, which is empty at the end.
  std::span<char> next() { return std::span(block_).first(source_->read(block_)); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::vector<char> block_;
};

class GzipSource final : public ByteSource {
 public:
  GzipSource(std::string path, std::unique_ptr<ByteSource> source)
      : path_(std::move(path)), blocks_(std::move(source)) {
    constexpr int largest_window_of_gzip = 15 + 16;
    if (inflateInit2(&stream_, largest_window_of_gzip) != Z_OK) throw std::bad_alloc();
  }
  ~GzipSource() override { inflateEnd(&stream_); }

  std::size_t read(std::span<char> buffer) override {
    stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream_.avail_out = static_cast<uInt>(buffer.size());
    while (stream_.avail_out == buffer.size() && !is_done_) {
      if (stream_.avail_in == 0 && !refill()) {
        if (!is_between_members_) throw InputError(path_ + ": the gzip file is truncated");
        is_done_ = true;
      } else if (is_between_members_ && !begin_member()) {
        is_done_ = true;
      } else {
        inflate_some();
      }
    }
    return buffer.size() - stream_.avail_out;
  }

 private:
  bool refill() {
    const std::span<char> block = blocks_.next();
    stream_.next_in = reinterpret_cast<Bytef*>(block.data());
    stream_.avail_in = static_cast<uInt>(block.size());
    return !block.empty();
  }

  /// Skips zeros, with which tapes and disks pad files, and begins the next member. Returns false
  /// if only zeros are left.
  bool begin_member() {
    while (stream_.avail_in > 0 && *stream_.next_in == 0) {
      ++stream_.next_in;
      --stream_.avail_in;
      if (stream_.avail_in == 0 && !refill()) return false;
    }
    constexpr Bytef first_of_gzip = 0x1F;
    if (*stream_.next_in != first_of_gzip)
      throw InputError(path_ + ": bytes that are not gzip follow the end of its gzip data");
    inflateReset(&stream_);
    is_between_members_ = false;
    return true;
  }

  void inflate_some() {
    const int code = inflate(&stream_, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
      is_between_members_ = true;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      throw InputError(path_ + ": the gzip file is damaged: " +
                       (stream_.msg != nullptr ? stream_.msg : "its data cannot be understood"));
    }
  }

  std::string path_;
  Blocks blocks_;
  z_stream stream_{};
  bool is_between_members_ = false;
  bool is_done_ = false;
};

class ZstdSource final : public ByteSource {
 public:
  ZstdSource(std::string path, std::unique_ptr<ByteSource> source)
      : path_(std::move(path)), blocks_(std::move(source)), stream_(ZSTD_createDStream()) {
    if (!stream_) throw std::bad_alloc();
  }

  std::size_t read(std::span<char> buffer) override {
    ZSTD_outBuffer output{buffer.data(), buffer.size(), 0};
    while (output.pos == 0) {
      if (input_.pos == input_.size) refill();
      if (is_at_end_ && is_frame_done_) break;
      const std::size_t input_before = input_.pos;
      // At the end of the file, a call without input flushes the decoder's remaining output.
      const std::size_t hint = ZSTD_decompressStream(stream_.get(), &output, &input_);
      if (ZSTD_isError(hint) != 0)
        throw InputError(path_ + ": the Zstandard file is damaged: " + ZSTD_getErrorName(hint));
      is_frame_done_ = hint == 0;
      if (output.pos == 0 && input_.pos == input_before && is_at_end_ && !is_frame_done_)
        throw InputError(path_ + ": the Zstandard file is truncated");
    }
    return output.pos;
  }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  void refill() {
    if (is_at_end_) return;
    const std::span<char> block = blocks_.next();
    is_at_end_ = block.empty();
    input_ = {block.data(), block.size(), 0};
  }

  std::string path_;
  Blocks blocks_;
  std::unique_ptr<ZSTD_DStream, Free> stream_;
  ZSTD_inBuffer input_{};
  bool is_at_end_ = false;
  bool is_frame_done_ = true;
};

class Utf16Source final : public ByteSource {
 public:
  Utf16Source(std::string path, std::unique_ptr<ByteSource> source, Utf16Order order)
      : path_(std::move(path)), blocks_(std::move(source)), order_(order) {}

  std::size_t read(std::span<char> buffer) override {
    if (taken_ == text_.size() && !decode_block()) return 0;
    const std::size_t bytes = text_.copy(buffer.data(), buffer.size(), taken_);
    taken_ += bytes;
    return bytes;
  }

 private:
  /// Fills text_ with the next block. Returns false at the end.
  bool decode_block() {
    text_.clear();
    taken_ = 0;
    while (text_.empty()) {
      const std::span<char> block = blocks_.next();
      if (block.empty()) {
        if (has_byte_ || high_ != 0)
          throw InputError(path_ + ": the UTF-16 text ends within a character");
        return false;
      }
      for (const char byte : block) take(static_cast<unsigned char>(byte));
    }
    return true;
  }

  void take(std::uint32_t byte) {
    if (!std::exchange(has_byte_, !has_byte_)) {
      first_ = byte;
      return;
    }
    const std::uint32_t unit =
        order_ == Utf16Order::little ? first_ | byte << 8 : first_ << 8 | byte;
    const bool is_high = unit >= 0xD800 && unit < 0xDC00;
    const bool is_low = unit >= 0xDC00 && unit < 0xE000;
    if (is_low != (high_ != 0)) throw InputError(path_ + ": the UTF-16 text is damaged");
    if (is_high) {
      high_ = unit;
    } else {
      append(is_low ? 0x10000 + ((high_ - 0xD800) << 10) + (unit - 0xDC00) : unit);
      high_ = 0;
    }
  }

  void append(std::uint32_t code) {
    const auto byte = [this](std::uint32_t value) { text_.push_back(static_cast<char>(value)); };
    if (code < 0x80) return byte(code);
    if (code < 0x800) {
      byte(0xC0 | code >> 6);
    } else if (code < 0x10000) {
      byte(0xE0 | code >> 12);
      byte(0x80 | (code >> 6 & 0x3F));
    } else {
      byte(0xF0 | code >> 18);
      byte(0x80 | (code >> 12 & 0x3F));
      byte(0x80 | (code >> 6 & 0x3F));
    }
    byte(0x80 | (code & 0x3F));
  }

  std::string path_;
  Blocks blocks_;
  Utf16Order order_;
  std::uint32_t first_ = 0;  ///< the first byte of a unit, if has_byte_
  bool has_byte_ = false;
  std::uint32_t high_ = 0;  ///< the first half of a pair of surrogates, or 0
  std::string text_;        ///< decoded UTF-8
  std::size_t taken_ = 0;   ///< number of bytes of text_ that read() has returned
};

}  // namespace

std::string_view LookAhead::head(std::size_t bytes_min) {
  ahead_.erase(0, std::exchange(taken_, 0));
  while (ahead_.size() < bytes_min) {
    const std::size_t held = ahead_.size();
    ahead_.resize(held + read_bytes);
    const std::size_t bytes = source_->read(std::span(ahead_).subspan(held));
    ahead_.resize(held + bytes);
    if (bytes == 0) break;
  }
  return ahead_;
}

std::size_t LookAhead::read(std::span<char> buffer) {
  const std::size_t held = ahead_.copy(buffer.data(), buffer.size(), taken_);
  taken_ += held;
  return held > 0 ? held : source_->read(buffer);
}

std::string shown_path(const std::string& path) {
  return path == "-" ? "the standard input" : path;
}

std::unique_ptr<ByteSource> open_file(const std::string& path) {
  return std::make_unique<FileSource>(path);
}

std::unique_ptr<ByteSource> make_memory_source(std::string_view text) {
  return std::make_unique<MemorySource>(text);
}

bool begins_gzip(std::string_view head) {
  return head.starts_with("\x1F\x8B");
}

bool begins_zstd(std::string_view head) {
  constexpr std::size_t magic_bytes = 4;
  if (head.size() < magic_bytes) return false;
  const bool is_skippable =
      (static_cast<unsigned char>(head[0]) & 0xF0) == 0x50 && head.substr(1, 3) == "\x2A\x4D\x18";
  return is_skippable || head.starts_with("\x28\xB5\x2F\xFD");
}

std::unique_ptr<ByteSource> make_gzip_source(std::string path, std::unique_ptr<ByteSource> source) {
  return std::make_unique<GzipSource>(std::move(path), std::move(source));
}

std::unique_ptr<ByteSource> make_zstd_source(std::string path, std::unique_ptr<ByteSource> source) {
  return std::make_unique<ZstdSource>(std::move(path), std::move(source));
}

std::unique_ptr<ByteSource> make_utf16_source(std::string path, std::unique_ptr<ByteSource> source,
                                              Utf16Order order) {
  return std::make_unique<Utf16Source>(std::move(path), std::move(source), order);
}

}  // namespace starling::sim
