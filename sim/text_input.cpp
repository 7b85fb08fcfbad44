// zlib's gzread tells gzip from plain bytes by itself; a compressed file that ends too early it
// only reports through gzerror.
#include "sim/text_input.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include <zlib.h>

#include "sim/trace.hpp"

namespace starling::sim {
namespace {

constexpr unsigned gz_buffer_bytes = 256 << 10;
constexpr std::size_t read_all_step_bytes = 4 << 20;

gzFile as_gz(void* file) {
  return static_cast<gzFile>(file);
}

}  // namespace

void TextInput::Close::operator()(void* file) const {
  gzclose(as_gz(file));
}

TextInput::TextInput(std::string path) : path_(std::move(path)) {
  if (std::filesystem::is_directory(path_)) throw TraceError(path_ + ": is a directory");
  errno = 0;
  file_.reset(gzopen(path_.c_str(), "rbe"));
  if (!file_)
    throw TraceError(path_ + ": cannot be opened: " +
                     std::string(errno != 0 ? std::strerror(errno) : "out of memory"));
  gzbuffer(as_gz(file_.get()), gz_buffer_bytes);
}

std::size_t TextInput::read(std::span<char> buffer) {
  const auto bytes_wanted =
      static_cast<unsigned>(std::min<std::size_t>(buffer.size(), std::numeric_limits<int>::max()));
  const int bytes = gzread(as_gz(file_.get()), buffer.data(), bytes_wanted);
  if (bytes >= 0 && static_cast<unsigned>(bytes) == bytes_wanted) return bytes_wanted;
  int code = Z_OK;
  const char* const message = gzerror(as_gz(file_.get()), &code);
  if (code == Z_BUF_ERROR) throw TraceError(path_ + ": the gzip file is truncated");
  if (bytes < 0 || code != Z_OK)
    throw TraceError(path_ + ": cannot be read: " +
                     (code == Z_ERRNO ? std::string(std::strerror(errno)) : std::string(message)));
  return static_cast<std::size_t>(bytes);
}

std::string TextInput::read_all(std::size_t bytes_max, std::size_t padding) {
  std::string text;
  for (;;) {
    const std::size_t bytes_before = text.size();
    text.resize(bytes_before + read_all_step_bytes);
    const std::size_t bytes = read(std::span(text).subspan(bytes_before));
    text.resize(bytes_before + bytes);
    if (text.size() > bytes_max)
      throw TraceError(path_ + ": is longer than the " + std::to_string(bytes_max) +
                       " bytes that this layout is read in one piece; split it");
    if (bytes < read_all_step_bytes) break;
  }
  text.reserve(text.size() + padding);
  return text;
}

}  // namespace starling::sim
