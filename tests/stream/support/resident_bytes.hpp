// SPDX-License-Identifier: Apache-2.0
// The resident memory of a process, and what a sanitizer adds to it.
#pragma once

#include <cstddef>
#include <fstream>
#include <string>

#include <unistd.h>

namespace starling::stream {

/// The memory that a sanitizer adds to the process: its shadow memory, and freed blocks that it
/// keeps.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t sanitizer_bytes = std::size_t{256} << 20;
#elif defined(__SANITIZE_THREAD__)
inline constexpr std::size_t sanitizer_bytes = std::size_t{2} << 30;
#else
inline constexpr std::size_t sanitizer_bytes = 0;
#endif

/// Returns the resident memory of a process in bytes, as the operating system counts it.
inline std::size_t resident_bytes(pid_t process = getpid()) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  std::size_t pages = 0;
  std::size_t resident_pages = 0;
  file >> pages >> resident_pages;
  return resident_pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace starling::stream
