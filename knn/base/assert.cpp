// Says on stderr what is broken and where, and aborts: see assert.hpp.
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
