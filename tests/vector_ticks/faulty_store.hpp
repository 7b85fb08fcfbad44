// A VectorStore that fails when told to, and counts what it is asked: around any other.
#pragma once

#include <cstdint>
#include <memory>

#include "starling/knn/vectors/store.hpp"

namespace starling::test {

struct StoreFaults {
  enum class At { none, before_apply, amid_apply, after_apply, nearest, near_applied, near_any };
  At at = At::none;

  /// How often it was asked.
  std::uint64_t applied_rows = 0;
  std::uint64_t nearest_queries = 0;
  std::uint64_t near_applied_queries = 0;
  std::uint64_t near_any_queries = 0;
};

/// It says "the store failed" for as long as `faults->at` is where it is asked.
std::unique_ptr<VectorStore> make_faulty_store(std::unique_ptr<VectorStore> store,
                                               std::shared_ptr<StoreFaults> faults);

}  // namespace starling::test
