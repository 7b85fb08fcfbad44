// SPDX-License-Identifier: Apache-2.0
// A pending file gets its name only when it is complete. Therefore two programs with the same
// output path do not disturb each other, and a killed program leaves no partial file at that path.
// TextOutput uses PendingFile.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "starling/knn/base/descriptor.hpp"

namespace starling::sim {

class PendingFile {
 public:
  enum class Kind : std::uint8_t {
    unnamed,  ///< a file without a name; `hidden` on file systems without O_TMPFILE, such as NFS
    hidden,   ///< .NAME.PROCESS-NUMBER in the same directory; a killed program leaves this file
  };

  /// Opens a file that will appear at `path`, which must not be a symbolic link. The new file gets
  /// the permissions of an old file at `path`. Returns null, with errno set, on failure.
  static std::unique_ptr<PendingFile> open(const std::string& path, Kind kind = Kind::unnamed);

  /// Deletes the file if appear() has not succeeded.
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  /// Returns a descriptor for reading and writing, which is valid while this object lives.
  int descriptor() const { return descriptor_.number(); }

  /// Gives the file its name and replaces an older file of this name. Returns false, with errno
  /// set, on failure.
  bool appear();

 private:
  explicit PendingFile(const std::string& path) : path_(path) {}
  bool open_unnamed();
  bool open_hidden();
  bool link_hidden();
  void keep_permissions();
  std::string fresh_name() const;
  template <class Make>
  bool make_hidden(const Make& make);

  std::string path_;
  Descriptor descriptor_;
  std::string hidden_path_;  ///< empty while the file has no name
};

}  // namespace starling::sim
