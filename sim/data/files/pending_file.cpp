// SPDX-License-Identifier: Apache-2.0
// Linux can link an unnamed file only to a name that is free. Therefore a new file that replaces an
// old one first gets a hidden name and is then renamed: see pending_file.hpp.
#include "starling/sim/data/files/pending_file.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace starling::sim {
namespace {

constexpr ::mode_t new_file_mode = 0666;  // the system applies the umask to this mode
constexpr ::mode_t permissions = 0777;
constexpr int names_tried_max = 1000;
constexpr std::size_t name_bytes_max = 200;  // keeps a hidden name within the system's 255 bytes

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::string link_to(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

}  // namespace

std::unique_ptr<PendingFile> PendingFile::open(const std::string& path, Kind kind) {
  if (!std::filesystem::path(path).has_filename()) {
    errno = EISDIR;
    return nullptr;
  }
  std::unique_ptr<PendingFile> file(new PendingFile(path));
  const bool is_unnamed = kind == Kind::unnamed && file->open_unnamed();
  // If open_unnamed() and open_hidden() both fail, errno is that of open_hidden().
  if (!is_unnamed && !file->open_hidden()) return nullptr;
  file->keep_permissions();
  return file;
}

PendingFile::~PendingFile() {
  if (!hidden_path_.empty()) ::unlink(hidden_path_.c_str());
}

bool PendingFile::open_unnamed() {
  Descriptor opened(
      ::open(folder_of(path_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, new_file_mode));
  if (!opened.is_open()) return false;
  // Without /proc the file could not be linked to a name.
  if (::access(link_to(opened.number()).c_str(), F_OK) != 0) return false;
  descriptor_ = std::move(opened);
  return true;
}

bool PendingFile::open_hidden() {
  return make_hidden([this](const std::string& name) {
    descriptor_ =
        Descriptor(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, new_file_mode));
    return descriptor_.is_open();
  });
}

bool PendingFile::link_hidden() {
  return make_hidden([this](const std::string& name) {
    return ::linkat(AT_FDCWD, link_to(descriptor()).c_str(), AT_FDCWD, name.c_str(),
                    AT_SYMLINK_FOLLOW) == 0;
  });
}

// Errors are ignored: a file system that refuses fchmod has no permissions to keep.
void PendingFile::keep_permissions() {
  struct stat replaced {};
  if (::stat(path_.c_str(), &replaced) != 0) return;
  [[maybe_unused]] const int ignored = ::fchmod(descriptor(), replaced.st_mode & permissions);
}

bool PendingFile::appear() {
  if (hidden_path_.empty() && !link_hidden()) return false;
  if (std::rename(hidden_path_.c_str(), path_.c_str()) != 0) return false;
  hidden_path_.clear();
  return true;
}

std::string PendingFile::fresh_name() const {
  static std::atomic<std::uint64_t> next{0};
  const std::string name = std::filesystem::path(path_).filename().string();
  return folder_of(path_) + "/." + name.substr(0, name_bytes_max) + "." +
         std::to_string(::getpid()) + "-" + std::to_string(next++);
}

template <class Make>
bool PendingFile::make_hidden(const Make& make) {
  for (int tried = 0; tried < names_tried_max; ++tried) {
    const std::string name = fresh_name();
    if (make(name)) {
      hidden_path_ = name;
      return true;
    }
    if (errno != EEXIST) return false;
  }
  return false;
}

}  // namespace starling::sim
