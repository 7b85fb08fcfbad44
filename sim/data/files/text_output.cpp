// SPDX-License-Identifier: Apache-2.0
// Implements the plain, gzip and Zstandard sinks, and handles links and special files: see
// text_output.hpp.
#include "starling/sim/data/files/text_output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "starling/knn/base/descriptor.hpp"
#include "starling/knn/base/plain_text.hpp"

namespace starling::sim {
namespace {

class PlainSink : public TextOutput::Sink {
 public:
  explicit PlainSink(std::FILE* file) : file_(file), is_terminal_(::isatty(::fileno(file)) == 1) {}
  ~PlainSink() override {
    if (file_ && file_ != stdout) std::fclose(file_);
  }
  PlainSink(const PlainSink&) = delete;
  PlainSink& operator=(const PlainSink&) = delete;

  bool write(std::string_view text) override {
    if (!is_terminal_) return write_raw(text);
    return write_raw(plain_text(text, LineBreaks::kept));  // names must not steer the terminal
  }
  bool flush() override { return std::fflush(file_) == 0; }
  bool rewrite_start(std::string_view text) override {
    return std::fseek(file_, 0, SEEK_SET) == 0 && write(text) &&
           std::fseek(file_, 0, SEEK_END) == 0;
  }
  bool close() override {
    return file_ == stdout ? flush() : std::fclose(std::exchange(file_, nullptr)) == 0;
  }

 private:
  bool write_raw(std::string_view text) {
    return std::fwrite(text.data(), text.size(), 1, file_) == 1;
  }

  std::FILE* file_;
  bool is_terminal_;
};

class GzipSink : public TextOutput::Sink {
 public:
  explicit GzipSink(gzFile file) : file_(file) {}
  ~GzipSink() override {
    if (file_) gzclose(file_);
  }
  GzipSink(const GzipSink&) = delete;
  GzipSink& operator=(const GzipSink&) = delete;

  bool write(std::string_view text) override {
    return gzfwrite(text.data(), text.size(), 1, file_) == 1;
  }
  bool flush() override { return gzflush(file_, Z_SYNC_FLUSH) == Z_OK; }
  bool close() override { return gzclose(std::exchange(file_, nullptr)) == Z_OK; }

 private:
  gzFile file_;
};

class ZstdSink : public TextOutput::Sink {
 public:
  explicit ZstdSink(std::FILE* file) : file_(file), stream_(ZSTD_createCStream()) {
    if (!stream_) throw std::bad_alloc();
    compressed_.resize(ZSTD_CStreamOutSize());
  }

  bool write(std::string_view text) override { return compress(text, ZSTD_e_continue); }
  bool flush() override { return compress({}, ZSTD_e_flush) && file_.flush(); }
  bool close() override { return compress({}, ZSTD_e_end) && file_.close(); }

 private:
  struct Free {
    void operator()(ZSTD_CStream* stream) const { ZSTD_freeCStream(stream); }
  };

  bool compress(std::string_view text, ZSTD_EndDirective directive) {
    ZSTD_inBuffer input{text.data(), text.size(), 0};
    for (;;) {
      ZSTD_outBuffer output{compressed_.data(), compressed_.size(), 0};
      const std::size_t rest = ZSTD_compressStream2(stream_.get(), &output, &input, directive);
      if (ZSTD_isError(rest) != 0) {
        errno = ENOMEM;  // compressing bytes in memory fails only for lack of memory
        return false;
      }
      if (output.pos > 0 && !file_.write({compressed_.data(), output.pos})) return false;
      if (directive == ZSTD_e_continue ? input.pos == input.size : rest == 0) return true;
    }
  }

  PlainSink file_;
  std::unique_ptr<ZSTD_CStream, Free> stream_;
  std::vector<char> compressed_;
};

/// Chooses the sink by the ending of `name` and takes ownership of the descriptor. Returns null,
/// with errno set, if memory runs out.
std::unique_ptr<TextOutput::Sink> make_sink(int descriptor, std::string_view name) {
  if (name.ends_with(".gz")) {
    if (const gzFile file = gzdopen(descriptor, "wb1")) return std::make_unique<GzipSink>(file);
  } else if (std::FILE* const file = ::fdopen(descriptor, "wb")) {
    if (name.ends_with(".zst")) return std::make_unique<ZstdSink>(file);
    return std::make_unique<PlainSink>(file);
  }
  ::close(descriptor);
  errno = ENOMEM;
  return nullptr;
}

/// What a path leads to after all links have been followed.
struct Place {
  enum class Holds : std::uint8_t { nothing, file, something_else };

  Holds holds = Holds::nothing;
  std::string end;  ///< the path after the last link
};

constexpr int links_max = 40;  // Linux's limit

std::string end_of_links(const std::string& path) {
  std::filesystem::path end = path;
  for (int links = 0; links < links_max; ++links) {
    std::error_code none;
    const std::filesystem::path next = std::filesystem::read_symlink(end, none);
    if (none) break;
    end = end.parent_path() / next;
  }
  return end.string();
}

/// Returns what `path` leads to. Returns std::nullopt, with errno set, if the path cannot be
/// examined.
std::optional<Place> find_place(const std::string& path) {
  struct stat at_path {};
  if (::stat(path.c_str(), &at_path) != 0) {
    if (errno != ENOENT) return std::nullopt;
    return Place{Place::Holds::nothing, end_of_links(path)};
  }
  if (!S_ISREG(at_path.st_mode)) return Place{Place::Holds::something_else, path};
  // /proc invents a name for a descriptor whose file has been deleted. This name does not lead to
  // the file.
  struct stat at_end {};
  const std::string end = end_of_links(path);
  const bool is_same = ::stat(end.c_str(), &at_end) == 0 && at_end.st_dev == at_path.st_dev &&
                       at_end.st_ino == at_path.st_ino;
  return Place{is_same ? Place::Holds::file : Place::Holds::something_else, end};
}

[[noreturn]] void fail_at(const std::string& path, std::string_view what) {
  throw std::runtime_error((path == "-" ? "the standard output" : path) + " cannot be " +
                           std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

bool TextOutput::Sink::rewrite_start(std::string_view /*text*/) {
  errno = ESPIPE;
  return false;
}

TextOutput::TextOutput(const std::string& path, Appears appears) : path_(path) {
  if (path == "-") {
    sink_ = std::make_unique<PlainSink>(stdout);
    return;
  }
  const int descriptor = open_descriptor(appears);
  if (descriptor >= 0) sink_ = make_sink(descriptor, path);
  if (!sink_) fail("opened");
}

TextOutput::~TextOutput() = default;

int TextOutput::open_descriptor(Appears appears) {
  const std::optional<Place> place = find_place(path_);
  if (!place) return -1;
  if (appears == Appears::at_once || place->holds == Place::Holds::something_else)
    return ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  pending_ = PendingFile::open(place->end);
  // The sink gets a duplicate of the descriptor and closes the duplicate. The original descriptor
  // stays open and can still be linked to a name.
  return pending_ ? ::fcntl(pending_->descriptor(), F_DUPFD_CLOEXEC, 0) : -1;
}

void TextOutput::check(const std::string& path) {
  if (path == "-") return;
  const std::optional<Place> place = find_place(path);
  if (!place) fail_at(path, "opened");
  if (place->holds == Place::Holds::nothing) {
    if (!PendingFile::open(place->end)) fail_at(path, "opened");
  } else if (place->holds == Place::Holds::file) {
    const Descriptor opened(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!opened.is_open()) fail_at(path, "opened");
  } else if (std::filesystem::is_directory(path)) {
    errno = EISDIR;
    fail_at(path, "opened");
  } else if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
    fail_at(path, "opened");  // opening a pipe as a trial would disturb its reader
  }
}

bool TextOutput::is_ordinary(const std::string& path) {
  if (path == "-") return false;
  const std::optional<Place> place = find_place(path);
  return !place || place->holds != Place::Holds::something_else;
}

void TextOutput::write(std::string_view text) {
  if (!text.empty() && !sink_->write(text)) fail("written");
}

void TextOutput::flush() {
  if (!sink_->flush()) fail("written");
}

void TextOutput::rewrite_start(std::string_view text) {
  if (!sink_->rewrite_start(text)) fail("completed");
}

void TextOutput::finish() {
  if (is_finished_) return;
  if (!sink_->close()) fail("completed");
  is_finished_ = true;
}

void TextOutput::close() {
  finish();
  if (!pending_) return;
  if (!pending_->appear()) fail("completed");
  pending_.reset();
}

void TextOutput::fail(std::string_view what) const {
  fail_at(path_, what);
}

}  // namespace starling::sim
