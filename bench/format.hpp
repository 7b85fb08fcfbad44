// SPDX-License-Identifier: Apache-2.0
// format() works like printf and returns the text, cut after 1023 characters. The benchmarks make
// table rows and JSON fields with it.
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
