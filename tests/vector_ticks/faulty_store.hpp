// SPDX-License-Identifier: Apache-2.0
// Makes a VectorStore that wraps another store, fails on request, and counts the rows and queries
// that it is given.
#pragma once

#include <cstdint>
#include <memory>

#include "starling/knn/vectors/store.hpp"

namespace starling::test {

struct StoreFaults {
  enum class At { none, before_apply, amid_apply, after_apply, nearest, near_applied, near_any };
  At at = At::none;

  // Counts of rows and queries that were passed to the store:
  std::uint64_t applied_rows = 0;
  std::uint64_t nearest_queries = 0;
  std::uint64_t near_applied_queries = 0;
  std::uint64_t near_any_queries = 0;
};

/// Returns a store that passes all calls on to `store`. It throws std::runtime_error("the store
/// failed") at the point of the call that `faults->at` names.
std::unique_ptr<VectorStore> make_faulty_store(std::unique_ptr<VectorStore> store,
                                               std::shared_ptr<StoreFaults> faults);

}  // namespace starling::test
