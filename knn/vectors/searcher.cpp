// What every searcher asserts of a search before it begins: see vector_searcher.hpp. Called by
// those in cpu/ and gpu/.
#include "starling/knn/vectors/searcher.hpp"

#include "starling/knn/base/assert.hpp"

namespace starling {

void check_search(const VectorSearch& search, std::uint32_t dimension, std::size_t list_entries) {
  check_invariant(search.k >= 1 && search.k <= vector_k_max, "k is within 1 and vector_k_max");
  check_invariant(search.queries.dimension == dimension, "queries have the corpus' dimension");
  check_invariant(list_entries == std::size_t{search.queries.rows()} * search.k,
                  "there is room for every list, and no more");
}

}  // namespace starling
