// SPDX-License-Identifier: Apache-2.0
// zlib's gzread reads gzip files and plain files, and tells them apart by itself. It reports a
// truncated gzip file only through gzerror. Zstandard files are detected by their first bytes, not
// by their name.
#include "starling/sim/files/text_input.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include <zlib.h>
#include <zstd.h>

#include "starling/sim/files/errors.hpp"

namespace starling::sim {
namespace {

[[noreturn]] void fail_to_open(const std::string& path) {
  throw InputError(path + ": cannot be opened: " +
                   std::string(errno != 0 ? std::strerror(errno) : "out of memory"));
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

class GzipSource : public TextInput::Source {
 public:
  explicit GzipSource(const std::string& path) : path_(path) {
    errno = 0;
    file_ = gzopen(path_.c_str(), "rbe");
    if (!file_) fail_to_open(path_);
    gzbuffer(file_, static_cast<unsigned>(read_bytes));
  }
  ~GzipSource() override { gzclose(file_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(std::span<char> buffer) override {
    const auto bytes_wanted = static_cast<unsigned>(
        std::min<std::size_t>(buffer.size(), std::numeric_limits<int>::max()));
    const int bytes = gzread(file_, buffer.data(), bytes_wanted);
    if (bytes >= 0 && static_cast<unsigned>(bytes) == bytes_wanted) return bytes_wanted;
    int code = Z_OK;
    const char* const message = gzerror(file_, &code);
    if (code == Z_BUF_ERROR) throw InputError(path_ + ": the gzip file is truncated");
    if (bytes < 0 || code != Z_OK)
      throw InputError(
          path_ + ": cannot be read: " +
          (code == Z_ERRNO ? std::string(std::strerror(errno)) : std::string(message)));
    return static_cast<std::size_t>(bytes);
  }

 private:
  std::string path_;
  gzFile file_;
};

class ZstdSource : public TextInput::Source {
 public:
  ZstdSource(const std::string& path, File file)
      : path_(path), file_(std::move(file)), stream_(ZSTD_createDStream()) {
    if (!stream_) throw std::bad_alloc();
    compressed_.resize(ZSTD_DStreamInSize());
    input_ = {compressed_.data(), 0, 0};
  }

  std::size_t read(std::span<char> buffer) override {
    ZSTD_outBuffer output{buffer.data(), buffer.size(), 0};
    while (output.pos < output.size) {
      if (input_.pos == input_.size) refill();
      const std::size_t output_before = output.pos;
      const std::size_t input_before = input_.pos;
      // At the end of the file, a call without input flushes the decoder's remaining output.
      const std::size_t hint =
          at_end_ && frame_done_ ? 0 : ZSTD_decompressStream(stream_.get(), &output, &input_);
      if (ZSTD_isError(hint) != 0)
        throw InputError(path_ + ": the Zstandard file is damaged: " + ZSTD_getErrorName(hint));
      frame_done_ = hint == 0;
      if (output.pos > output_before || input_.pos > input_before) continue;
      if (!frame_done_) throw InputError(path_ + ": the Zstandard file is truncated");
      break;
    }
    return output.pos;
  }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  void refill() {
    if (at_end_) return;
    const std::size_t bytes = std::fread(compressed_.data(), 1, compressed_.size(), file_.get());
    if (std::ferror(file_.get()) != 0)
      throw InputError(path_ + ": cannot be read: " + std::strerror(errno));
    at_end_ = bytes == 0;
    input_ = {compressed_.data(), bytes, 0};
  }

  std::string path_;
  File file_;
  std::unique_ptr<ZSTD_DStream, Free> stream_;
  std::vector<char> compressed_;
  ZSTD_inBuffer input_{};
  bool at_end_ = false;
  bool frame_done_ = true;
};

class MemorySource : public TextInput::Source {
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

/// Returns true if the file begins with a Zstandard data frame or with a skippable frame. Parallel
/// compressors write a skippable frame first.
bool is_zstd(std::FILE* file) {
  std::array<unsigned char, 4> magic{};
  if (std::fread(magic.data(), 1, magic.size(), file) != magic.size()) return false;
  const bool data = magic == std::array<unsigned char, 4>{0x28, 0xB5, 0x2F, 0xFD};
  const bool skipped =
      (magic[0] & 0xF0) == 0x50 && magic[1] == 0x2A && magic[2] == 0x4D && magic[3] == 0x18;
  return data || skipped;
}

std::unique_ptr<TextInput::Source> open_source(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw InputError(path + ": is a directory");
  // A pipe's first bytes can be read only once, and zlib needs them, so pipes are not tested for
  // Zstandard.
  if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path))
    return std::make_unique<GzipSource>(path);
  errno = 0;
  File file(std::fopen(path.c_str(), "rbe"));
  if (!file) fail_to_open(path);
  if (!is_zstd(file.get())) return std::make_unique<GzipSource>(path);
  std::rewind(file.get());
  return std::make_unique<ZstdSource>(path, std::move(file));
}

}  // namespace

TextInput::TextInput(std::string path) : path_(std::move(path)), source_(open_source(path_)) {}

TextInput::TextInput(std::string path, std::string_view text)
    : path_(std::move(path)), source_(std::make_unique<MemorySource>(text)) {}

TextInput::~TextInput() = default;

std::size_t TextInput::read(std::span<char> buffer) {
  return source_->read(buffer);
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  if (text.starts_with(mark)) text.remove_prefix(mark.size());
  return text;
}

}  // namespace starling::sim
