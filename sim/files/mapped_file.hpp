// A file's bytes in memory without being read first: the system fetches what is looked at. The
// readers of binary vectors and labels stand on it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace starling::sim {

class MappedFile {
 public:
  /// Throws TraceError if the file cannot be opened or is no ordinary one.
  explicit MappedFile(std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }

  /// Whoever shortens the file meanwhile ends the program.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::string path_;
  std::span<const std::byte> bytes_;  ///< none of an empty file
};

}  // namespace starling::sim
