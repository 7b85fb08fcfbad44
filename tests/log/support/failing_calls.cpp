// SPDX-License-Identifier: Apache-2.0
// Defines functions of the C library: see failing_calls.hpp.
#include "tests/log/support/failing_calls.hpp"

#include <cerrno>
#include <cstdarg>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/support/replaced_function.hpp"

namespace starling::log {
namespace {

struct Fault {
  std::string_view name;
  int left = 0;  ///< number of calls up to the one that fails; 0 after it
  int error = 0;
};
Fault fault;

/// Returns what this call does: 0 to succeed, `half`, or the error with which it fails.
int outcome_of(std::string_view name) {
  if (fault.left == 0 || name != fault.name || --fault.left > 0) return 0;
  return fault.error;
}

/// Returns whether this call fails, and sets errno if it does.
bool fails(std::string_view name) {
  const int error = outcome_of(name);
  if (error > 0) errno = error;
  return error > 0;
}

}  // namespace

FailingCall::FailingCall(std::string_view name, int number, int error) {
  fault = {name, number, error};
}
FailingCall::~FailingCall() {
  fault = {};
}
bool FailingCall::has_failed() {
  return fault.left == 0;
}

}  // namespace starling::log

using starling::log::FailingCall;
using starling::log::fails;
using starling::log::outcome_of;
using starling::test::mode_in;
using starling::test::next_function;

extern "C" {

int mkdir(const char* path, mode_t mode) noexcept {
  static auto* const real = next_function<int(const char*, mode_t)>("mkdir");
  return fails("mkdir") ? -1 : real(path, mode);
}

int open(const char* path, int flags, ...) {
  static auto* const real = next_function<int(const char*, int, ...)>("open");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return fails("open") ? -1 : real(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  static auto* const real = next_function<int(int, const char*, int, ...)>("openat");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return fails("openat") ? -1 : real(folder, path, flags, mode);
}

DIR* fdopendir(int folder) {
  static auto* const real = next_function<DIR*(int)>("fdopendir");
  return fails("fdopendir") ? nullptr : real(folder);
}

dirent* readdir(DIR* folder) {
  static auto* const real = next_function<dirent*(DIR*)>("readdir");
  return fails("readdir") ? nullptr : real(folder);
}

int fstat(int file, struct stat* status) noexcept {
  static auto* const real = next_function<int(int, struct stat*)>("fstat");
  return fails("fstat") ? -1 : real(file, status);
}

int fstatvfs(int file, struct statvfs* status) noexcept {
  static auto* const real = next_function<int(int, struct statvfs*)>("fstatvfs");
  return fails("fstatvfs") ? -1 : real(file, status);
}

ssize_t pread(int file, void* data, size_t bytes, off_t offset) {
  static auto* const real = next_function<ssize_t(int, void*, size_t, off_t)>("pread");
  const int outcome = outcome_of("pread");
  if (outcome == FailingCall::half) bytes = (bytes + 1) / 2;
  errno = outcome > 0 ? outcome : errno;
  return outcome > 0 ? -1 : real(file, data, bytes, offset);
}

ssize_t pwrite(int file, const void* data, size_t bytes, off_t offset) {
  static auto* const real = next_function<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  const int outcome = outcome_of("pwrite");
  if (outcome == FailingCall::half) bytes = (bytes + 1) / 2;
  errno = outcome > 0 ? outcome : errno;
  return outcome > 0 ? -1 : real(file, data, bytes, offset);
}

int sync_file_range(int file, off64_t offset, off64_t bytes, unsigned flags) {
  static auto* const real = next_function<int(int, off64_t, off64_t, unsigned)>("sync_file_range");
  return fails("sync_file_range") ? -1 : real(file, offset, bytes, flags);
}

int fdatasync(int file) {
  static auto* const real = next_function<int(int)>("fdatasync");
  return fails("fdatasync") ? -1 : real(file);
}

int fsync(int file) {
  static auto* const real = next_function<int(int)>("fsync");
  return fails("fsync") ? -1 : real(file);
}

int flock(int file, int operation) noexcept {
  static auto* const real = next_function<int(int, int)>("flock");
  return fails("flock") ? -1 : real(file, operation);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  static auto* const real = next_function<int(int, const char*, int, const char*)>("renameat");
  return fails("renameat") ? -1 : real(from_folder, from, to_folder, to);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  static auto* const real = next_function<int(int, const char*, int)>("unlinkat");
  return fails("unlinkat") ? -1 : real(folder, path, flags);
}

int posix_fallocate(int file, off_t offset, off_t bytes) {  // returns its error instead of setting
                                                            // errno
  static auto* const real = next_function<int(int, off_t, off_t)>("posix_fallocate");
  const int error = outcome_of("posix_fallocate");
  return error > 0 ? error : real(file, offset, bytes);
}
}
