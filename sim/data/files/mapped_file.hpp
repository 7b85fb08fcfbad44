// SPDX-License-Identifier: Apache-2.0
// Maps a file into memory. The system loads a page of the file only when the program reads from
// this page. The readers of binary vectors and labels use MappedFile.
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

  /// Returns the content of the file. If another process truncates the file while it is mapped,
  /// reading past the new end ends this program with SIGBUS.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::string path_;
  std::span<const std::byte> bytes_;  ///< empty if the file is empty; such a file is not mapped
};

}  // namespace starling::sim
