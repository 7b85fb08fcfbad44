// Plain, gzip and Zstandard sinks behind one face: see text_output.hpp.
#include "sim/text_output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include <zlib.h>
#include <zstd.h>

namespace starling::sim {
namespace {

class PlainSink : public TextOutput::Sink {
 public:
  explicit PlainSink(std::FILE* file) : file_(file) {}
  ~PlainSink() override {
    if (file_ && file_ != stdout) std::fclose(file_);
  }
  PlainSink(const PlainSink&) = delete;
  PlainSink& operator=(const PlainSink&) = delete;

  bool write(std::string_view text) override {
    return std::fwrite(text.data(), text.size(), 1, file_) == 1;
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
  std::FILE* file_;
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
        errno = ENOMEM;  // what else can fail of compressing bytes at hand
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

/// By the name's ending; null, with errno set, if the file cannot be opened.
std::unique_ptr<TextOutput::Sink> open_sink(const std::string& path, std::string_view name) {
  if (name == "-") return std::make_unique<PlainSink>(stdout);
  errno = 0;
  if (name.ends_with(".gz")) {
    const gzFile file = gzopen(path.c_str(), "wb1e");
    if (!file) return nullptr;
    return std::make_unique<GzipSink>(file);
  }
  std::FILE* const file = std::fopen(path.c_str(), "wbe");
  if (!file) return nullptr;
  if (name.ends_with(".zst")) return std::make_unique<ZstdSink>(file);
  return std::make_unique<PlainSink>(file);
}

}  // namespace

bool TextOutput::Sink::rewrite_start(std::string_view /*text*/) {
  errno = ESPIPE;
  return false;
}

TextOutput::TextOutput(const std::string& path, Appears appears) : path_(path) {
  namespace fs = std::filesystem;
  std::error_code error;  // what cannot be looked at cannot be opened either, and opening says why
  const fs::file_status status = fs::status(path, error);
  const bool ordinary = path != "-" && (!fs::exists(status) || fs::is_regular_file(status));
  if (ordinary && appears == Appears::when_closed) {
    if (fs::is_symlink(path, error)) path_ = fs::weakly_canonical(path, error).string();
    if (path_.empty()) path_ = path;
    partial_path_ = path_ + ".partial";
  }
  sink_ = open_sink(partial_path_.empty() ? path_ : partial_path_, path);
  if (!sink_) {
    partial_path_.clear();  // it is not ours
    fail("opened");
  }
}

TextOutput::~TextOutput() {
  sink_.reset();
  if (!partial_path_.empty()) std::remove(partial_path_.c_str());
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
  if (partial_path_.empty()) return;
  if (std::rename(partial_path_.c_str(), path_.c_str()) != 0) fail("completed");
  partial_path_.clear();
}

void TextOutput::fail(std::string_view what) const {
  throw std::runtime_error((path_ == "-" ? "the standard output" : path_) + " cannot be " +
                           std::string(what) + ": " + std::strerror(errno));
}

}  // namespace starling::sim
