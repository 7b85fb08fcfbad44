// SPDX-License-Identifier: Apache-2.0
// The assertions about a search that every searcher makes first: see searcher.hpp. The searchers in
// cpu/ and gpu/ call check_search.
#include "starling/knn/vectors/searcher.hpp"

#include "starling/knn/base/assert.hpp"

namespace starling {

void check_search(const VectorSearch& search, std::uint32_t dimension, std::size_t list_entries) {
  check_invariant(search.k >= 1 && search.k <= vector_k_max, "k is 1 to vector_k_max");
  check_invariant(search.queries.dimension == dimension,
                  "queries have the dimension of the corpus");
  check_invariant(list_entries == std::size_t{search.queries.rows()} * search.k,
                  "`lists` has exactly k entries for each query");
}

}  // namespace starling
