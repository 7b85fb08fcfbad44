// SPDX-License-Identifier: Apache-2.0
// Searches a corpus on the device by the scans of this folder: chooses the scan, and owns the
// memory that the scans need in addition to the corpus. DeviceSearcher and the store call it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/vectors/corpus/device_search.hpp"
#include "starling/gpu/vectors/corpus/device_vectors.hpp"
#include "starling/gpu/vectors/corpus/panels.hpp"
#include "starling/gpu/vectors/corpus/shadow.hpp"
#include "starling/gpu/vectors/scan/filter_use.hpp"

namespace starling::gpu {

/// The memory of searches in addition to the corpus: packed queries, and candidate lists with room
/// for the rows of a segment. Queries are searched in batches. If memory is too small for one tile
/// of queries with all rows, the rows are searched in segments, and each segment continues the
/// lists of the segment before. Only one CUDA stream may use a VectorWorkspace at a time.
class VectorWorkspace {
 public:
  /// Returns the least memory with which every search of this dimension works.
  static std::uint64_t bytes_min(std::uint32_t dimension);

  VectorWorkspace(DeviceMemory& memory, std::uint64_t bytes_max,
                  FilterOptions filter = FilterOptions())
      : memory_(memory),
        bytes_max_(bytes_max),
        filter_(filter),
        queries_(memory),
        keys_(memory),
        words_(memory),
        halves_(memory),
        shadow_queries_(memory) {}

  /// Called when a search needs more rows than have arrived. Enqueues the copy of further rows and
  /// returns how many rows have then arrived: more than before, and whole panels or all rows.
  using Arrival = std::function<std::uint32_t()>;

  /// Returns how many searches like `search` a corpus without a shadow serves before its shadow is
  /// made: 0 if making the shadow takes less time than the shadow saves in one search. Returns
  /// std::nullopt if the search does not use a shadow.
  std::optional<std::uint32_t> searches_before_shadow(const CorpusView& corpus,
                                                      const DeviceSearch& search) const;

  /// Returns how many queries of `search` are searched together, at least 1. `has_shadow` says
  /// whether the corpus has a shadow when it is searched.
  std::uint32_t batch_queries(const CorpusView& corpus, const DeviceSearch& search,
                              bool has_shadow) const;

  /// Enqueued only, but waits for the device if memory must grow. If there is an `arrival`, no row
  /// of the corpus has arrived yet: the rows are searched as they arrive, and all have arrived when
  /// the function returns. Throws the same errors as DeviceMemory and `arrival`.
  void search_async(const CorpusView& corpus, const DeviceSearch& search, const CudaStream& stream,
                    const Arrival& arrival = {});

 private:
  /// A filter, which reads the corpus' shadow before the scan.
  enum class Filter : std::uint8_t {
    none,
    few,   ///< few_filter_launch.hpp
    many,  ///< filter_launch.hpp
  };
  /// Returns the filter for `search` if the corpus has a shadow.
  Filter filter_for(const CorpusView& corpus, const DeviceSearch& search) const;

  struct Plan {
    std::uint32_t queries = 0;  ///< queries of a batch
    std::uint32_t rows = 0;     ///< rows of a segment: all rows, or whole panels
    std::uint32_t slots = 0;    ///< candidate slots of a query
    Filter filter = Filter::none;
  };
  Plan plan(const CorpusView& corpus, const DeviceSearch& search, bool has_shadow) const;
  void search_batch_async(const CorpusView& corpus, const DeviceSearch& search, const Plan& plan,
                          const CudaStream& stream, const Arrival& arrival);
  void filter_async(const CorpusView& corpus, const DeviceSearch& search, Filter chosen,
                    VectorScan& scan, const CudaStream& stream);

  DeviceMemory& memory_;
  std::uint64_t bytes_max_;
  FilterOptions filter_;
  DeviceBuffer<float4> queries_;        ///< the packed queries of a batch
  DeviceBuffer<std::uint64_t> keys_;    ///< CandidateLists::keys
  DeviceBuffer<std::uint32_t> words_;   ///< counts, bounds, slots, undecided tiles
  DeviceBuffer<std::uint16_t> halves_;  ///< the queries' shadows
  DeviceBuffer<ShadowQuery> shadow_queries_;
};

}  // namespace starling::gpu
