// SPDX-License-Identifier: Apache-2.0
// Names the calls on files that the library failing_files makes fail: see call_fault.hpp. A call
// counts only if its file is in a folder that an environment variable names, or is such a folder.
#pragma once

#include <array>
#include <string_view>

namespace starling::stream {

/// The calls that can fail. Nothing depends on the results of close, closedir and fchmod.
inline constexpr std::array<std::string_view, 28> file_calls{
    "fclose", "fcntl",    "fdatasync", "fdopendir",       "flock",  "fopen",
    "fstat",  "fstatvfs", "fsync",     "fwrite",          "linkat", "lstat",
    "mkdir",  "open",     "openat",    "posix_fallocate", "pread",  "pwrite",
    "read",   "readdir",  "rename",    "renameat",        "stat",   "sync_file_range",
    "unlink", "unlinkat", "write",     "writev"};

/// Name of the environment variable that holds the folders' paths, with a colon between two and no
/// slash at their ends.
inline constexpr const char* fault_folders_variable = "STARLING_FAULT_FOLDERS";

}  // namespace starling::stream
