// SPDX-License-Identifier: Apache-2.0
// The corpus of `bench knn`, in one of three kinds of host memory, because the time of its upload
// depends on the kind.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "starling/knn/vectors/searcher.hpp"

namespace starling::bench {

enum class CorpusMemory : std::uint8_t {
  ordinary,     ///< memory of the heap
  page_locked,  ///< memory of VectorSearcher::host_memory()
  mapped,       ///< a temporary file, mapped into memory; its pages are in the page cache
};

/// Owns the components of a corpus.
class KnnCorpus {
 public:
  KnnCorpus() = default;
  /// Keeps `rows` if `memory` is ordinary; otherwise copies them to this kind of memory. Throws
  /// std::bad_alloc, a device error, or std::system_error if the temporary file cannot be made.
  KnnCorpus(std::vector<float> rows, CorpusMemory memory, VectorSearcher& searcher);

  std::span<const float> components() const { return components_; }

 private:
  std::vector<float> rows_;
  std::unique_ptr<float, std::function<void(float*)>> copy_;
  std::span<const float> components_;
};

}  // namespace starling::bench
