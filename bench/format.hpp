// Rows of the benchmarks' tables and fields of their JSON, by printf's patterns.
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
