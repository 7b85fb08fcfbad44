// SPDX-License-Identifier: Apache-2.0
// Calls getrandom(): see system_random.hpp.
#include "starling/stream/state/system_random.hpp"

#include <cerrno>
#include <system_error>

#include <sys/random.h>

namespace starling::stream {

std::uint64_t system_random() {
  std::uint64_t bits = 0;
  while (true) {
    const ssize_t count = getrandom(&bits, sizeof(bits), 0);
    if (count == sizeof(bits)) return bits;
    if (count < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "getrandom");
  }
}

}  // namespace starling::stream
