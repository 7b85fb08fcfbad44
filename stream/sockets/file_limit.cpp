// SPDX-License-Identifier: Apache-2.0
// Sets the soft RLIMIT_NOFILE to the hard one: see file_limit.hpp.
#include "starling/stream/sockets/file_limit.hpp"

#include <sys/resource.h>

namespace starling::stream {

void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);  // after a failure, opening a file reports the error
}

}  // namespace starling::stream
