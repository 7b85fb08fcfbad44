// SPDX-License-Identifier: Apache-2.0
// Lists the searchers under test. The whole suite runs once for each searcher. A new searcher adds
// one entry to searchers().
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "starling/knn/vectors/searcher.hpp"

namespace starling::test {

struct SearcherChoice {
  std::string name;  ///< what VectorSearcher::name() must return
  std::function<std::unique_ptr<VectorSearcher>()> make;
  std::string why_skipped;  ///< why the searcher cannot run on this machine; empty if it can
  std::string variant;      ///< distinguishes searchers with the same name

  std::string test_name() const { return name + variant; }
};

/// GoogleTest prints parameters with this function.
inline void PrintTo(const SearcherChoice& choice, std::ostream* out) {
  *out << choice.test_name();
}

const std::vector<SearcherChoice>& searchers();

}  // namespace starling::test
