// SPDX-License-Identifier: Apache-2.0
// Writes the broken invariant and its source line to stderr, then aborts: see assert.hpp.
#include "starling/knn/base/assert.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace starling {
namespace {

/// Returns the path within the source tree, without the folder in which the program was built.
std::string_view path_in_tree(std::string_view path) {
  constexpr std::string_view here = __FILE__;
  constexpr std::string_view root =
      here.substr(0, here.size() - std::string_view("knn/base/assert.cpp").size());
  if (path.starts_with(root)) path.remove_prefix(root.size());
  // Headers are included through links in the build folder.
  constexpr std::string_view include_root = "include/starling/";
  const std::size_t at = path.rfind(include_root);
  if (at != std::string_view::npos) return path.substr(at + include_root.size());
  // A compiler cache may return an object file that was compiled in another folder.
  if (!path.starts_with('/')) return path;
  std::size_t first = path.size();
  for (const std::string_view folder : {"/apps/", "/bench/", "/clients/", "/cpu/", "/gpu/", "/knn/",
                                        "/log/", "/protocol/", "/sim/", "/stream/", "/tests/"})
    first = std::min(first, path.find(folder));
  return first == path.size() ? path : path.substr(first + 1);
}

}  // namespace

void assertion_failed(std::string_view what, std::source_location where) {
  const std::string_view file = path_in_tree(where.file_name());
  std::fprintf(stderr, "starling: %.*s:%u: broken invariant: %.*s\n", static_cast<int>(file.size()),
               file.data(), where.line(), static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace starling
