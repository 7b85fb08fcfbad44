// A file that is written first and named later. Until it is whole no folder knows it, so that two
// programs with one output do not meet, and one that is killed leaves nothing. TextOutput stands on
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace starling::sim {

class PendingFile {
 public:
  enum class Kind : std::uint8_t {
    unnamed,  ///< hidden on file systems that know no unnamed files, such as NFS
    hidden,   ///< beside its place as .NAME.PROCESS-NUMBER, which a killed program leaves
  };

  /// `path` is no link. Where a file is replaced, its permissions are kept. Null, with errno set,
  /// if there can be no file.
  static std::unique_ptr<PendingFile> open(const std::string& path, Kind kind = Kind::unnamed);

  /// One that did not appear is gone.
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  /// Open for reading and writing, for as long as this lives.
  int descriptor() const { return descriptor_; }

  /// Takes its place, and that of a file that is there. False, with errno set, if it cannot.
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
  std::string hidden_path_;  ///< empty while it has no name
};

}  // namespace starling::sim
