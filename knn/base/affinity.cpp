// SPDX-License-Identifier: Apache-2.0
// Binds threads and sets their niceness with Linux system calls, and does nothing on other systems:
// see affinity.hpp. ThreadPool and CpuEngine call pin_this_thread on each thread that they bind.
#include "starling/knn/base/affinity.hpp"

#include <array>
#include <cstddef>

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace starling {

void pin_this_thread([[maybe_unused]] unsigned nth) {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || nth-- > 0) continue;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(core, &only);
    pthread_setaffinity_np(pthread_self(), sizeof only, &only);
    return;
  }
#endif
}

void set_priority_of_this_thread([[maybe_unused]] ThreadPriority priority) {
#ifdef __linux__
  static constexpr std::array niceness{0, 5, 10, 19};
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()),
              niceness[static_cast<std::size_t>(priority)]);
#endif
}

}  // namespace starling
