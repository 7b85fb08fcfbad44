// SPDX-License-Identifier: Apache-2.0
// The operations on files that the log needs, all in one folder. SystemFiles does them on a disk;
// tests have an implementation that loses power. Every call may throw IoError; its message names
// the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace starling::log {

/// The system refused an operation on a file or folder.
class IoError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
/// The disk or the quota has no room for a new file. Nothing was changed.
class NoSpace : public IoError {
 public:
  using IoError::IoError;
};
/// The folder is open for writing already, in this process or another.
class FolderLocked : public IoError {
 public:
  using IoError::IoError;
};

/// Others may write to the folder. The message says what to do.
class UnsafeFolder : public IoError {
 public:
  using IoError::IoError;
};

/// An open file of the log. Offsets and lengths are in bytes.
class File {
 public:
  virtual ~File() = default;
  virtual std::uint64_t bytes() const = 0;
  /// Bytes of a page in the system's file cache. A write to a page waits while the system writes
  /// that page to the disk.
  virtual std::uint64_t page_bytes() const = 0;
  /// Reads from `offset` on into `out`. Returns the number of bytes read; it is less than the size
  /// of `out` only at the file's end.
  virtual std::size_t read(std::uint64_t offset, std::span<std::byte> out) const = 0;
  /// Writes all of `bytes`. After an error any part of them may be written.
  virtual void write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  /// Makes the system begin to write these bytes to the disk, so that sync() has less to wait for.
  /// Does not wait for the disk. After an error it is unknown which bytes are on the disk.
  virtual void begin_sync(std::uint64_t offset, std::uint64_t bytes) = 0;
  /// Returns when all written bytes are on the disk. After an error it is unknown which bytes are
  /// there, and a second call could succeed without writing them: do not call it again.
  virtual void sync() = 0;
};

/// A folder that holds a log. Several threads may open and read files while one thread writes the
/// log and another writes its identity.
class Files {
 public:
  virtual ~Files() = default;
  /// Returns the names of all entries, in ascending order.
  virtual std::vector<std::string> list() const = 0;
  virtual std::unique_ptr<File> open(std::string_view name) = 0;
  /// Makes a file of `bytes` zeros whose place on the disk is reserved. Throws NoSpace if there is
  /// no room. An older file of this name is replaced.
  virtual std::unique_ptr<File> create(std::string_view name, std::uint64_t bytes) = 0;
  /// Gives a file another name. Power loss leaves the old name or the new one.
  virtual void rename(std::string_view from, std::string_view to) = 0;
  virtual void remove(std::string_view name) = 0;
  /// Returns the file's creation time as the file system reports it; a copy of the file has a later
  /// time. Returns an empty string if the file system reports no time.
  virtual std::string birth_of(std::string_view name) const = 0;
  /// Returns when all creations, renames and removals are on the disk.
  virtual void sync_folder() = 0;
  /// Returns the free bytes of the folder's file system.
  virtual std::uint64_t free_bytes() const = 0;
};

/// Returns Files::free_bytes(), or std::nullopt if the system does not say it.
inline std::optional<std::uint64_t> free_bytes_if_known(const Files& files) {
  try {
    return files.free_bytes();
  } catch (const IoError&) {
    return std::nullopt;
  }
}

}  // namespace starling::log
