// SPDX-License-Identifier: Apache-2.0
// printf into a std::string, at most 1023 characters. For table rows and JSON fields of the
// benchmarks.
#pragma once

#include <cstdio>
#include <string>

namespace starling::bench {

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[1024];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

}  // namespace starling::bench
