// The searchers under test. The whole suite runs once against each; a new one is one more row.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "starling/knn/vectors/searcher.hpp"

namespace starling::test {

struct SearcherChoice {
  std::string name;  ///< what VectorSearcher::name() must answer
  std::function<std::unique_ptr<VectorSearcher>()> make;
  std::string why_skipped;  ///< not empty: it cannot run here
  std::string variant;      ///< of several of one name

  std::string test_name() const { return name + variant; }
};

/// GoogleTest shows parameters by this.
inline void PrintTo(const SearcherChoice& choice, std::ostream* out) {
  *out << choice.test_name();
}

const std::vector<SearcherChoice>& searchers();

}  // namespace starling::test
