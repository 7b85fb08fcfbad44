// SPDX-License-Identifier: Apache-2.0
// A file that gets its name only when it is complete. Until then it is in no directory, so that two
// programs with the same output path do not disturb each other and a killed program leaves no
// partial file. TextOutput uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace starling::sim {

class PendingFile {
 public:
  enum class Kind : std::uint8_t {
    unnamed,  ///< falls back to `hidden` on file systems without O_TMPFILE, such as NFS
    hidden,   ///< .NAME.PROCESS-NUMBER in the same directory; a killed program leaves it behind
  };

  /// Opens a file that will appear at `path`, which must not be a symbolic link. If a file is
  /// already there, the new one gets its permissions. Returns null, with errno set, on failure.
  static std::unique_ptr<PendingFile> open(const std::string& path, Kind kind = Kind::unnamed);

  /// Deletes the file if appear() has not succeeded.
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  /// Open for reading and writing; valid while this object lives.
  int descriptor() const { return descriptor_; }

  /// Gives the file its name and replaces a file that already has it. Returns false, with errno
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
  int descriptor_ = -1;
  std::string hidden_path_;  ///< empty while the file has no name
};

}  // namespace starling::sim
