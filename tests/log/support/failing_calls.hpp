// SPDX-License-Identifier: Apache-2.0
// Has one system call of the program fail. failing_calls.cpp defines the C library's functions
// itself and passes calls on, so these tests are a program of their own.
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

/// While an object lives, call `number` of the function `name` fails, counted from 1. All other
/// calls are passed on. At most one object lives at a time.
class FailingCall {
 public:
  /// May be given as the error: the call does half of its work. For pread and pwrite only.
  static constexpr int half = -1;

  FailingCall(std::string_view name, int number, int error);
  ~FailingCall();
  FailingCall(const FailingCall&) = delete;
  FailingCall& operator=(const FailingCall&) = delete;

  /// Returns whether the call `number` was made, and so has failed.
  static bool has_failed();
};

}  // namespace starling::log
