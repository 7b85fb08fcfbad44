// SPDX-License-Identifier: Apache-2.0
// Defines open_folder, with POSIX calls: see system_files.hpp.
#include "starling/log/system_files.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "starling/knn/base/descriptor.hpp"
#include "starling/knn/base/plain_text.hpp"
#include "starling/log/segment.hpp"

namespace starling::log {
namespace {

constexpr const char* lock_name = "lock";

std::string reason(int error) {
  return std::generic_category().message(error);
}

[[noreturn]] void fail(const std::string& what, const std::string& path, int error) {
  throw IoError(what + " " + path + ": " + reason(error));
}

/// Repeats a call that a signal interrupted.
template <class Call>
auto uninterrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

class SystemFile final : public File {
 public:
  SystemFile(Descriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  std::uint64_t bytes() const override {
    struct stat status {};
    if (::fstat(descriptor_.number(), &status) != 0) fail("cannot ask the size of", path_, errno);
    return static_cast<std::uint64_t>(status.st_size);
  }

  std::uint64_t page_bytes() const override {
    return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  }

  std::size_t read(std::uint64_t offset, std::span<std::byte> out) const override {
    std::size_t done = 0;
    while (done < out.size()) {
      const ssize_t count = uninterrupted([&] {
        return ::pread(descriptor_.number(), out.data() + done, out.size() - done,
                       static_cast<off_t>(offset + done));
      });
      if (count < 0) fail("cannot read", path_, errno);
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    return done;
  }

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count = uninterrupted([&] {
        return ::pwrite(descriptor_.number(), bytes.data() + done, bytes.size() - done,
                        static_cast<off_t>(offset + done));
      });
      if (count < 0) fail("cannot write", path_, errno);
      if (count == 0) fail("cannot write", path_, EIO);
      done += static_cast<std::size_t>(count);
    }
  }

  void begin_sync(std::uint64_t offset, std::uint64_t bytes) override {
    const int result = uninterrupted([&] {
      return ::sync_file_range(descriptor_.number(), static_cast<off_t>(offset),
                               static_cast<off_t>(bytes), SYNC_FILE_RANGE_WRITE);
    });
    // Some file systems and sandboxes lack this call. sync() then does all of the work.
    const bool is_missing = errno == ENOSYS || errno == EINVAL || errno == ESPIPE || errno == EPERM;
    if (result != 0 && !is_missing) fail("cannot write to the disk", path_, errno);
  }

  void sync() override {
    if (uninterrupted([&] { return ::fdatasync(descriptor_.number()); }) != 0)
      fail("cannot write to the disk", path_, errno);
  }

 private:
  Descriptor descriptor_;
  std::string path_;
};

class SystemFiles : public Files {
 public:
  SystemFiles(std::string path, FolderUse use) : path_(std::move(path)) {
    const bool is_new = use == FolderUse::write && ::mkdir(path_.c_str(), 0700) == 0;
    if (use == FolderUse::write && !is_new && errno != EEXIST)
      fail("cannot make the folder", path_, errno);
    folder_ = Descriptor(
        uninterrupted([&] { return ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    if (!folder_.is_open()) fail("cannot open the folder", path_, errno);
    if (is_new) sync_parent();
    if (use == FolderUse::read) return;
    check_owner();
    lock_ = open_at(lock_name, O_RDWR | O_CREAT | O_NOFOLLOW, "cannot make");
    lock(lock_, lock_name);
    lock_newest_segment();
  }

  std::vector<std::string> list() const override {
    Descriptor copy = try_open(".", O_RDONLY | O_DIRECTORY);
    if (!copy.is_open()) fail("cannot read the folder", path_, errno);
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::fdopendir(copy.number()), &::closedir);
    if (!folder) fail("cannot read the folder", path_, errno);
    copy.release();
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* const entry = ::readdir(folder.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != ".." && name != lock_name) names.push_back(name);
      errno = 0;
    }
    if (errno != 0) fail("cannot read the folder", path_, errno);
    std::ranges::sort(names);
    return names;
  }

  std::unique_ptr<File> open(std::string_view name) override {
    return std::make_unique<SystemFile>(open_at(name, O_RDWR | O_NOFOLLOW, "cannot open"),
                                        path_of(name));
  }

  std::unique_ptr<File> create(std::string_view name, std::uint64_t bytes) override {
    const bool is_segment = name == unfinished_segment_name;
    if (is_segment) check_newest_segment();
    Descriptor made = open_at(name, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, "cannot make");
    if (is_segment) lock(made, name);
    int error = 0;
    do {  // posix_fallocate returns its error
      error = ::posix_fallocate(made.number(), 0, static_cast<off_t>(bytes));
    } while (error == EINTR);
    if (error == 0) {
      if (is_segment) next_segment_lock_ = copy_of(made, name);
      return std::make_unique<SystemFile>(std::move(made), path_of(name));
    }
    ::unlinkat(folder_.number(), std::string(name).c_str(), 0);
    refuse_creation(name, bytes, error);
  }

  void rename(std::string_view from, std::string_view to) override {
    if (::renameat(folder_.number(), std::string(from).c_str(), folder_.number(),
                   std::string(to).c_str()) != 0)
      fail("cannot rename", path_of(from), errno);
    if (from != unfinished_segment_name) return;
    segment_lock_ = std::move(next_segment_lock_);
    next_segment_lock_ = Descriptor();  // closes the descriptor of the segment before
  }

  void remove(std::string_view name) override {
    if (::unlinkat(folder_.number(), std::string(name).c_str(), 0) != 0)
      fail("cannot remove", path_of(name), errno);
  }

  std::string birth_of(std::string_view name) const override {
    struct statx status {};
    if (::statx(folder_.number(), std::string(name).c_str(), AT_SYMLINK_NOFOLLOW, STATX_BTIME,
                &status) != 0) {
      // Some sandboxes lack this call.
      if (errno == ENOSYS || errno == EPERM || errno == EINVAL) return {};
      fail("cannot ask the age of", path_of(name), errno);
    }
    if ((status.stx_mask & STATX_BTIME) == 0) return {};
    return std::to_string(status.stx_btime.tv_sec) + '.' + std::to_string(status.stx_btime.tv_nsec);
  }

  void sync_folder() override {
    if (uninterrupted([&] { return ::fsync(folder_.number()); }) != 0)
      fail("cannot write to the disk the folder", path_, errno);
  }

  std::uint64_t free_bytes() const override {
    struct statvfs status {};
    if (::fstatvfs(folder_.number(), &status) != 0) fail("cannot ask the room of", path_, errno);
    return std::uint64_t{status.f_bavail} * status.f_frsize;
  }

 protected:
  std::string path_of(std::string_view name) const { return path_ + "/" + std::string(name); }

  /// Returns another descriptor of the open file.
  Descriptor copy_of(const Descriptor& file, std::string_view name) const {
    Descriptor copy(::fcntl(file.number(), F_DUPFD_CLOEXEC, 0));
    if (!copy.is_open()) fail("cannot open", path_of(name), errno);
    return copy;
  }

  /// On an error returns a closed descriptor and sets errno.
  Descriptor try_open(std::string_view name, int flags) const {
    return Descriptor(uninterrupted([&] {
      return ::openat(folder_.number(), std::string(name).c_str(), flags | O_CLOEXEC, 0600);
    }));
  }

 private:
  /// Puts the new folder's own entry on the disk.
  void sync_parent() const {
    const Descriptor parent = try_open("..", O_RDONLY | O_DIRECTORY);
    if (!parent.is_open() || uninterrupted([&] { return ::fsync(parent.number()); }) != 0)
      fail("cannot write to the disk the folder above", path_, errno);
  }

  Descriptor open_at(std::string_view name, int flags, const char* what) const {
    Descriptor opened = try_open(name, flags);
    if (opened.is_open()) return opened;
    const int error = errno;
    if ((flags & O_CREAT) != 0) refuse_creation(name, 0, error);
    fail(what, path_of(name), error);
  }

  [[noreturn]] void refuse_creation(std::string_view name, std::uint64_t bytes, int error) const {
    if (error != ENOSPC && error != EDQUOT) fail("cannot make", path_of(name), error);
    const std::string file = bytes == 0 ? "another file" : "a file of " + bytes_text(bytes);
    throw NoSpace(file + " does not fit on the disk of " + path_ + " (" + reason(error) + ")");
  }

  /// A user who may write to the folder may replace the log.
  void check_owner() const {
    struct stat status {};
    if (::fstat(folder_.number(), &status) != 0) fail("cannot ask the owner of", path_, errno);
    if (status.st_uid != ::geteuid())
      throw UnsafeFolder("the folder " + path_ + " belongs to the user " +
                         std::to_string(status.st_uid) + ", not to the user " +
                         std::to_string(::geteuid()) +
                         " who runs this program; run it as its owner, or name another folder");
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
      throw UnsafeFolder("other users may write to the folder " + path_ +
                         " and could replace the log; run chmod 700 " + path_);
  }

  /// flock() is used because its lock is dropped only with the last copy of the descriptor. The
  /// locks of fcntl() are dropped when any descriptor of the file is closed.
  void lock(const Descriptor& file, std::string_view name) const {
    if (uninterrupted([&] { return ::flock(file.number(), LOCK_EX | LOCK_NB); }) == 0) return;
    if (errno == EWOULDBLOCK) throw FolderLocked("another process uses the log in " + path_);
    fail("the file system has no locks, which keep a second server from this log: cannot lock",
         path_of(name), errno);
  }

  /// Returns the name of the newest segment, or an empty string.
  std::string newest_segment() const {
    const std::vector<std::string> names = segment_names(*this);
    return names.empty() ? std::string() : names.back();
  }

  /// The lock file can be removed. The segment that is written cannot be without losing it.
  void lock_newest_segment() {
    for (std::string name = newest_segment(); !name.empty();) {
      segment_lock_ = open_at(name, O_RDWR | O_NOFOLLOW, "cannot open");
      lock(segment_lock_, name);
      // A writer that began a segment in between holds the lock of that one.
      const std::string newest = newest_segment();
      if (newest == name) return;
      name = newest;
    }
  }

  /// Throws FolderLocked if another process has begun a segment since this one locked the newest.
  void check_newest_segment() const {
    const std::string name = newest_segment();
    if (name.empty()) return;
    struct stat newest {};
    struct stat locked {};
    if (::fstatat(folder_.number(), name.c_str(), &newest, AT_SYMLINK_NOFOLLOW) != 0)
      fail("cannot look at", path_of(name), errno);
    if (segment_lock_.is_open() && ::fstat(segment_lock_.number(), &locked) != 0)
      fail("cannot look at", path_of(name), errno);
    if (newest.st_dev != locked.st_dev || newest.st_ino != locked.st_ino)
      throw FolderLocked("another process has written to the log in " + path_);
  }

  std::string path_;
  Descriptor folder_;
  Descriptor lock_;
  Descriptor segment_lock_;       ///< the newest segment, while the folder is written
  Descriptor next_segment_lock_;  ///< the segment that has no name yet
};

/// The files of a log at one moment. All are open, so that they stay readable when a writer in
/// another process removes them.
class HeldFiles final : public SystemFiles {
 public:
  explicit HeldFiles(const std::string& path) : SystemFiles(path, FolderUse::read) {
    constexpr int tries_max = 100;
    for (int tries = 0; tries < tries_max; ++tries)
      if (hold_all()) return;
    throw IoError("the files in " + path + " change faster than they can be opened. Try again");
  }

  std::vector<std::string> list() const override {
    std::vector<std::string> names;
    for (const auto& [name, descriptor] : held_) names.push_back(name);
    return names;
  }

  std::unique_ptr<File> open(std::string_view name) override {
    const auto found = held_.find(name);
    if (found == held_.end()) fail("cannot open", path_of(name), ENOENT);
    return std::make_unique<SystemFile>(copy_of(found->second, name), path_of(name));
  }

 private:
  /// Opens all files of the log. Returns false if the folder changed meanwhile.
  bool hold_all() {
    held_.clear();
    const std::vector<std::string> names = names_of_log();
    for (const std::string& name : names) {
      Descriptor opened = try_open(name, O_RDONLY | O_NOFOLLOW);
      if (!opened.is_open() && errno == ENOENT) return false;
      if (!opened.is_open()) fail("cannot open", path_of(name), errno);
      held_.emplace(name, std::move(opened));
    }
    return names_of_log() == names;
  }

  std::vector<std::string> names_of_log() const {
    std::vector<std::string> names = SystemFiles::list();
    std::erase_if(names, [](const std::string& name) {
      return !sequence_of_name(name) && !sequence_of_snapshot_name(name);
    });
    return names;
  }

  std::map<std::string, Descriptor, std::less<>> held_;
};

}  // namespace

std::unique_ptr<Files> open_folder(const std::string& path, FolderUse use) {
  if (use == FolderUse::read) return std::make_unique<HeldFiles>(path);
  return std::make_unique<SystemFiles>(path, use);
}

}  // namespace starling::log
