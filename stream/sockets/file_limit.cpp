// SPDX-License-Identifier: Apache-2.0
// Sets the soft RLIMIT_NOFILE to the hard one: see file_limit.hpp.
#include "starling/stream/sockets/file_limit.hpp"

#include <sys/resource.h>

namespace starling::stream {

void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);  // if this fails, opening a file reports an error later
}

std::size_t open_files_max() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace starling::stream
