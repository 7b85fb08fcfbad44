// SPDX-License-Identifier: Apache-2.0
// Opens descriptors, ignores a signal and flushes at the end: see standard_streams.hpp.
#include "starling/apps/shared/process/standard_streams.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace starling::apps {

// open() returns the lowest free number. Because the loop goes upwards, the closed descriptor has
// this number.
void open_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
      throw std::runtime_error("/dev/null cannot be opened: " + std::string(std::strerror(errno)));
}

void report_file_size_limit() {
  std::signal(SIGXFSZ, SIG_IGN);
}

void flush_standard_output() {
  errno = 0;
  std::cout.flush();
  const bool is_flushed = std::fflush(stdout) == 0;
  if (is_flushed && std::cout && std::ferror(stdout) == 0) return;
  // If an earlier write failed and the flush did not, errno is 0. Report EIO in this case.
  throw std::runtime_error("the standard output cannot be written: " +
                           std::string(std::strerror(errno != 0 ? errno : EIO)));
}

}  // namespace starling::apps
