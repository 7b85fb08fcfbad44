// SPDX-License-Identifier: Apache-2.0
// A library to preload, which defines functions of the C library: see failing_files.hpp.
#include "tests/stream/files/failing_files.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/stream/support/call_fault.hpp"
#include "tests/support/replaced_function.hpp"

namespace starling::stream {
namespace {

/// [descriptor]: whether its file counts.
std::array<std::atomic<bool>, 4096> counted;

bool is_counted(int file) {
  return file >= 0 && static_cast<std::size_t>(file) < counted.size() &&
         counted[static_cast<std::size_t>(file)];
}

bool is_counted(int folder, std::string_view path) {
  if (!path.starts_with('/')) return is_counted(folder);
  const char* const folders = std::getenv(fault_folders_variable);
  std::string_view left = folders == nullptr ? "" : folders;
  while (!left.empty()) {
    const std::string_view next = left.substr(0, left.find(':'));
    if (path.starts_with(next) && (path.size() == next.size() || path[next.size()] == '/'))
      return true;
    left.remove_prefix(std::min(next.size() + 1, left.size()));
  }
  return false;
}

/// Notes whether the file counts. Returns the descriptor.
int noted(int file, bool counts) {
  if (file >= 0 && static_cast<std::size_t>(file) < counted.size())
    counted[static_cast<std::size_t>(file)] = counts;
  return file;
}

bool fails(std::string_view call, bool counts) {
  return counts && call_fails(index_of_call(file_calls, call));
}

bool fails_on(std::string_view call, int file) {
  return fails(call, is_counted(file));
}

bool fails_at(std::string_view call, const char* path, int folder = AT_FDCWD) {
  return fails(call, is_counted(folder, path));
}

}  // namespace
}  // namespace starling::stream

using namespace starling::stream;  // NOLINT(google-build-using-namespace)
using starling::test::mode_in;
using starling::test::next_function;

extern "C" {

int open(const char* path, int flags, ...) {
  static auto* const real = next_function<int(const char*, int, ...)>("open");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return fails_at("open", path) ? -1 : noted(real(path, flags, mode), is_counted(AT_FDCWD, path));
}

// Offsets have 64 bits with and without the suffix 64.
int open64(const char* path, int flags, ...) __attribute__((alias("open")));
FILE* fopen64(const char* path, const char* mode) __attribute__((alias("fopen")));

int openat(int folder, const char* path, int flags, ...) {
  static auto* const real = next_function<int(int, const char*, int, ...)>("openat");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  if (fails_at("openat", path, folder)) return -1;
  return noted(real(folder, path, flags, mode), is_counted(folder, path));
}

FILE* fopen(const char* path, const char* mode) {
  static auto* const real = next_function<FILE*(const char*, const char*)>("fopen");
  if (fails_at("fopen", path)) return nullptr;
  FILE* const stream = real(path, mode);
  if (stream != nullptr) noted(fileno(stream), is_counted(AT_FDCWD, path));
  return stream;
}

int close(int file) {
  static auto* const real = next_function<int(int)>("close");
  noted(file, false);
  return real(file);
}

int closedir(DIR* folder) {
  static auto* const real = next_function<int(DIR*)>("closedir");
  noted(dirfd(folder), false);
  return real(folder);
}

/// Closes the stream even if the call fails, as the C library's fclose does.
int fclose(FILE* stream) {
  static auto* const real = next_function<int(FILE*)>("fclose");
  const bool is_failing = fails_on("fclose", fileno(stream));
  const int error = errno;
  noted(fileno(stream), false);
  const int result = real(stream);
  if (is_failing) errno = error;
  return is_failing ? EOF : result;
}

int fcntl(int file, int command, ...) {
  static auto* const real = next_function<int(int, int, ...)>("fcntl");
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  if (fails_on("fcntl", file)) return -1;
  const int result = real(file, command, argument);
  return command == F_DUPFD_CLOEXEC ? noted(result, is_counted(file)) : result;
}

int fdatasync(int file) {
  static auto* const real = next_function<int(int)>("fdatasync");
  return fails_on("fdatasync", file) ? -1 : real(file);
}

DIR* fdopendir(int folder) {
  static auto* const real = next_function<DIR*(int)>("fdopendir");
  return fails_on("fdopendir", folder) ? nullptr : real(folder);
}

dirent* readdir(DIR* folder) {
  static auto* const real = next_function<dirent*(DIR*)>("readdir");
  return fails_on("readdir", dirfd(folder)) ? nullptr : real(folder);
}

int flock(int file, int operation) noexcept {
  static auto* const real = next_function<int(int, int)>("flock");
  return fails_on("flock", file) ? -1 : real(file, operation);
}

size_t fwrite(const void* data, size_t size, size_t count, FILE* stream) {
  static auto* const real = next_function<size_t(const void*, size_t, size_t, FILE*)>("fwrite");
  return fails_on("fwrite", fileno(stream)) ? 0 : real(data, size, count, stream);
}

int fstat(int file, struct stat* status) noexcept {
  static auto* const real = next_function<int(int, struct stat*)>("fstat");
  return fails_on("fstat", file) ? -1 : real(file, status);
}

int stat(const char* path, struct stat* status) noexcept {
  static auto* const real = next_function<int(const char*, struct stat*)>("stat");
  return fails_at("stat", path) ? -1 : real(path, status);
}

int lstat(const char* path, struct stat* status) noexcept {
  static auto* const real = next_function<int(const char*, struct stat*)>("lstat");
  return fails_at("lstat", path) ? -1 : real(path, status);
}

int fstatvfs(int file, struct statvfs* status) noexcept {
  static auto* const real = next_function<int(int, struct statvfs*)>("fstatvfs");
  return fails_on("fstatvfs", file) ? -1 : real(file, status);
}

int fsync(int file) {
  static auto* const real = next_function<int(int)>("fsync");
  return fails_on("fsync", file) ? -1 : real(file);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  static auto* const real = next_function<int(int, const char*, int, const char*, int)>("linkat");
  return fails_at("linkat", to, to_folder) ? -1 : real(from_folder, from, to_folder, to, flags);
}

int mkdir(const char* path, mode_t mode) noexcept {
  static auto* const real = next_function<int(const char*, mode_t)>("mkdir");
  return fails_at("mkdir", path) ? -1 : real(path, mode);
}

/// Returns the error, as the C library's posix_fallocate does.
int posix_fallocate(int file, off_t offset, off_t bytes) {
  static auto* const real = next_function<int(int, off_t, off_t)>("posix_fallocate");
  return fails_on("posix_fallocate", file) ? errno : real(file, offset, bytes);
}

ssize_t pread(int file, void* data, size_t bytes, off_t offset) {
  static auto* const real = next_function<ssize_t(int, void*, size_t, off_t)>("pread");
  return fails_on("pread", file) ? -1 : real(file, data, bytes, offset);
}

ssize_t pwrite(int file, const void* data, size_t bytes, off_t offset) {
  static auto* const real = next_function<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return fails_on("pwrite", file) ? -1 : real(file, data, bytes, offset);
}

ssize_t read(int file, void* data, size_t bytes) {
  static auto* const real = next_function<ssize_t(int, void*, size_t)>("read");
  return fails_on("read", file) ? -1 : real(file, data, bytes);
}

ssize_t write(int file, const void* data, size_t bytes) {
  static auto* const real = next_function<ssize_t(int, const void*, size_t)>("write");
  return fails_on("write", file) ? -1 : real(file, data, bytes);
}

ssize_t writev(int file, const iovec* parts, int count) {
  static auto* const real = next_function<ssize_t(int, const iovec*, int)>("writev");
  return fails_on("writev", file) ? -1 : real(file, parts, count);
}

int rename(const char* from, const char* to) noexcept {
  static auto* const real = next_function<int(const char*, const char*)>("rename");
  return fails_at("rename", to) ? -1 : real(from, to);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  static auto* const real = next_function<int(int, const char*, int, const char*)>("renameat");
  return fails_at("renameat", to, to_folder) ? -1 : real(from_folder, from, to_folder, to);
}

int sync_file_range(int file, off64_t offset, off64_t bytes, unsigned flags) {
  static auto* const real = next_function<int(int, off64_t, off64_t, unsigned)>("sync_file_range");
  return fails_on("sync_file_range", file) ? -1 : real(file, offset, bytes, flags);
}

int unlink(const char* path) noexcept {
  static auto* const real = next_function<int(const char*)>("unlink");
  return fails_at("unlink", path) ? -1 : real(path);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  static auto* const real = next_function<int(int, const char*, int)>("unlinkat");
  return fails_at("unlinkat", path, folder) ? -1 : real(folder, path, flags);
}
}
