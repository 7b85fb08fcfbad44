// SPDX-License-Identifier: Apache-2.0
// The interface of the published methods of exact k-NN. Corpus, queries and lists are in device
// memory. DeviceSearcher runs the method that a search names.
#pragma once

#include <cstdint>
#include <memory>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/vectors/corpus/device_search.hpp"
#include "starling/knn/base/assert.hpp"
#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/recipe.hpp"

namespace starling::gpu {

/// Row-major rows of a corpus: [count][dimension], on the device.
struct RowMajorView {
  const float* components = nullptr;
  std::uint32_t count = 0;
  std::uint32_t dimension = 1;
  VectorRow first_row = 0;  ///< the number that row 0 has in lists
  Recipe recipe = Recipe::squared_differences;
};

/// The part of a corpus' k-NN graph that one of several devices computes.
struct GraphShare {
  std::uint32_t device = 0;
  std::uint32_t devices = 1;
  std::uint32_t side = 0;  ///< side of a grid, the same for all devices: see graph_side()
};

/// A method follows the algorithm of its paper with kernels of its own. It computes scores by the
/// recipe of VectorNeighbor, so all methods give the same bytes. Only one CUDA stream may use a
/// method at a time.
class VectorMethod {
 public:
  virtual ~VectorMethod() = default;

  /// Answers a search: writes lists [count][k], each sorted. A list with fewer than k rows ends
  /// with {infinity, no_row}. Enqueued only, but waits for the device if memory must grow. A search
  /// that does not fit the method's memory is divided into batches. Throws the same errors as
  /// DeviceMemory.
  virtual void search_async(const RowMajorView& corpus, const DeviceSearch& search,
                            const CudaStream& stream) = 0;

  /// Returns the side of the square grids into which this method divides the distance matrix of
  /// `rows` rows, for `devices` devices. The method's memory has room for two grids of this side or
  /// any smaller side, and for what the method keeps of all rows. Returns 0 if there is no room, or
  /// if the method does not divide graphs.
  virtual std::uint32_t graph_side(std::uint32_t /*rows*/, std::uint32_t /*k*/,
                                   std::uint32_t /*devices*/) const {
    return 0;
  }
  /// Finds the k nearest of each row among the pairs of this device's share of the graph, and keeps
  /// these lists in the method's memory. The shares of all devices together contain all pairs. Call
  /// it only if graph_side() is not 0. Enqueued only, but waits for the device if memory must grow.
  virtual void find_graph_async(const RowMajorView& /*corpus*/, std::uint32_t /*k*/,
                                const GraphShare& /*share*/, const CudaStream& /*stream*/) {
    check_invariant(false, "find_graph_async is called only if graph_side is not 0");
  }
  /// Enqueued only. Takes the lists of rows [first, first + count) from the last find_graph_async()
  /// and writes them to `lists` [count][k], each sorted. Call it as often as needed, before the
  /// method's next search or graph.
  virtual void write_graph_async(std::uint32_t /*first*/, std::uint32_t /*count*/,
                                 VectorNeighbor* /*lists*/, const CudaStream& /*stream*/) {
    check_invariant(false, "write_graph_async is called only after find_graph_async");
  }
};

/// Each function makes the method of one paper. The file that defines the function names the
/// paper's sections. `bytes_max` is the most memory that the method may take in addition to corpus,
/// queries and lists.
std::unique_ptr<VectorMethod> make_kato(DeviceMemory& memory, std::uint64_t bytes_max);
std::unique_ptr<VectorMethod> make_cuknn(DeviceMemory& memory, std::uint64_t bytes_max);
std::unique_ptr<VectorMethod> make_sbq(DeviceMemory& memory, std::uint64_t bytes_max);
std::unique_ptr<VectorMethod> make_iterative(DeviceMemory& memory, std::uint64_t bytes_max);
std::unique_ptr<VectorMethod> make_insertion(DeviceMemory& memory, std::uint64_t bytes_max);
std::unique_ptr<VectorMethod> make_threshold(DeviceMemory& memory, std::uint64_t bytes_max);
std::unique_ptr<VectorMethod> make_multiselect(DeviceMemory& memory, std::uint64_t bytes_max);

}  // namespace starling::gpu
