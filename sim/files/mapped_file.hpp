// SPDX-License-Identifier: Apache-2.0
// Maps a file into memory, so that the system loads a page only when the program reads from it. The
// readers of binary vectors and labels use MappedFile.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace starling::sim {

class MappedFile {
 public:
  /// Throws InputError if the file cannot be opened or is not a regular file.
  explicit MappedFile(std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }

  /// If another process truncates the file meanwhile, reading past the new end ends this program
  /// with SIGBUS.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::string path_;
  std::span<const std::byte> bytes_;  ///< empty, and not mapped, for an empty file
};

}  // namespace starling::sim
