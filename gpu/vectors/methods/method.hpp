// A published method of exact k-NN as it stands on the device: corpus and queries there, lists
// written there. The searcher runs the one it is asked for; benchmarks time it by events.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "gpu/device/memory.hpp"
#include "gpu/device/stream.hpp"
#include "gpu/vectors/corpus/device_vectors.hpp"
#include "knn/base/assert.hpp"
#include "knn/vectors/searcher.hpp"

namespace starling::gpu {

/// Rows of a corpus as they came: [count][dimension], on the device.
struct RowMajorView {
  const float* components = nullptr;
  std::uint32_t count = 0;
  std::uint32_t dimension = 1;
  VectorRow first_row = 0;  ///< what row 0 is called in lists
  bool is_dot = false;      ///< the inner product ranks, not the squared distance
};

/// Of the graph of a corpus, the part that one of several devices computes.
struct GraphShare {
  std::uint32_t device = 0;
  std::uint32_t devices = 1;
  std::uint32_t side = 0;  ///< of a grid, the same for all; see graph_side
};

/// Every method follows its paper's own algorithm with its own kernels, and computes scores by the
/// recipe of VectorNeighbor, so that all give the same bytes. Used by one stream at a time.
class VectorMethod {
 public:
  virtual ~VectorMethod() = default;

  /// As VectorSearch, on the device: lists [count][k], in order, {infinity, no_row} behind the last
  /// of a short one. Enqueued only, except that memory which grows waits for the device. What does
  /// not fit in the memory given goes in batches. Throws as DeviceMemory.
  virtual void search_async(const RowMajorView& corpus, const DeviceSearch& search,
                            const Stream& stream) = 0;

  /// Of a method that shares out a graph among several devices: the side of its grids, such that
  /// they and lists of `rows` rows find room here; a smaller one does, too. 0: there is none, or
  /// the method does not.
  virtual std::uint32_t graph_side(std::uint32_t /*rows*/, std::uint32_t /*k*/,
                                   std::uint32_t /*devices*/) const {
    return 0;
  }
  /// Of the corpus' graph the k nearest of each row among the pairs that are this device's; those
  /// of all devices together are all pairs. search.queries are not read. Of a method that does.
  virtual void search_graph_async(const RowMajorView& /*corpus*/, const DeviceSearch& /*search*/,
                                  const GraphShare& /*share*/, const Stream& /*stream*/) {
    check_invariant(false, "a method that shares out no graph is not asked for its share");
  }
};

/// Methods in one file each, named after what the paper is known by; each states paper and section.
/// `bytes_max`: of the memory that it may take beside corpus, queries and lists.
std::unique_ptr<VectorMethod> make_kato(DeviceMemory& memory, std::uint64_t bytes_max);
std::unique_ptr<VectorMethod> make_cuknn(DeviceMemory& memory, std::uint64_t bytes_max);
std::unique_ptr<VectorMethod> make_sbq(DeviceMemory& memory, std::uint64_t bytes_max);
std::unique_ptr<VectorMethod> make_iterative(DeviceMemory& memory, std::uint64_t bytes_max);
std::unique_ptr<VectorMethod> make_insertion(DeviceMemory& memory, std::uint64_t bytes_max);
std::unique_ptr<VectorMethod> make_multiselect(DeviceMemory& memory, std::uint64_t bytes_max);

}  // namespace starling::gpu
