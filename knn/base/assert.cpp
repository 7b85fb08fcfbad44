// SPDX-License-Identifier: Apache-2.0
// Writes the broken invariant and its source line to stderr, then aborts: see assert.hpp.
#include "starling/knn/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace starling {

void assertion_failed(std::string_view what, std::source_location where) {
  std::fprintf(stderr, "starling: %s:%u: broken invariant: %.*s\n", where.file_name(), where.line(),
               static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace starling
