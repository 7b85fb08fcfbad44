// SPDX-License-Identifier: Apache-2.0
// Has one system call of the program fail. failing_calls.cpp defines the C library's functions
// itself and passes them on, so a program that links it is a program of its own.
#pragma once

#include <array>
#include <string_view>

namespace starling::log {

/// The calls that log/system_files.cpp makes. Closing a file is not among them: nothing depends on
/// its result.
inline constexpr std::array<std::string_view, 16> failing_calls{
    "mkdir",    "open",     "openat",          "fdopendir",      "readdir", "fstat",
    "fstatvfs", "pread",    "pwrite",          "fdatasync",      "fsync",   "flock",
    "renameat", "unlinkat", "posix_fallocate", "sync_file_range"};

/// While it lives, the call with this number, counted from 1, of this name fails. The others are
/// passed on. There is at most one object of this class at a time.
class FailingCall {
 public:
  /// Stands for an error: the call does only half of what it was asked to do. For pread and pwrite.
  static constexpr int half = -1;

  FailingCall(std::string_view name, int number, int error);
  ~FailingCall();
  FailingCall(const FailingCall&) = delete;
  FailingCall& operator=(const FailingCall&) = delete;

  /// Whether the call with the number was made, and has failed.
  static bool has_failed();
};

}  // namespace starling::log
