// A file's bytes in order, gzip undone on the way; plain files pass as they are. The readers' only
// source of input.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace starling::sim {

class TextInput {
 public:
  /// Throws TraceError if the file cannot be opened.
  explicit TextInput(std::string path);

  const std::string& path() const { return path_; }

  /// Fills the buffer; fewer bytes than asked for only at the end of the file. Throws TraceError on
  /// a damaged or truncated file.
  std::size_t read(std::span<char> buffer);

  /// The rest of the file. Throws TraceError beyond `bytes_max`. `padding` bytes of further
  /// capacity are reserved, as simdjson asks for.
  std::string read_all(std::size_t bytes_max, std::size_t padding);

 private:
  struct Close {
    void operator()(void* file) const;
  };
  std::string path_;
  std::unique_ptr<void, Close> file_;  ///< a gzFile, kept from the header's readers
};

}  // namespace starling::sim
