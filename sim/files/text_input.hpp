// A file's bytes in order, gzip and Zstandard undone on the way; plain files pass as they are. The
// readers' only source of input.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace starling::sim {

/// How much readers take from a file at a time.
#ifdef STARLING_FUZZ
inline constexpr std::size_t read_bytes = 64;  // short inputs are to cross its ends, too
#else
inline constexpr std::size_t read_bytes = 256 << 10;
#endif

class TextInput {
 public:
  /// Throws TraceError if the file cannot be opened.
  explicit TextInput(std::string path);

  /// Text that is at hand already and outlives this; `path` names it in errors.
  TextInput(std::string path, std::string_view text);

  ~TextInput();
  TextInput(const TextInput&) = delete;
  TextInput& operator=(const TextInput&) = delete;

  const std::string& path() const { return path_; }

  /// Fills the buffer; fewer bytes than asked for only at the end of the file. Throws TraceError on
  /// a damaged or truncated file.
  std::size_t read(std::span<char> buffer);

  /// Where the bytes come from; read() as above.
  class Source {
   public:
    virtual ~Source() = default;
    virtual std::size_t read(std::span<char> buffer) = 0;
  };

 private:
  std::string path_;
  std::unique_ptr<Source> source_;
};

/// The text without the UTF-8 byte order mark that it may begin with.
std::string_view without_byte_order_mark(std::string_view text);

}  // namespace starling::sim
