// SPDX-License-Identifier: Apache-2.0
// Launches one block for each query. Blocks have more threads if there are few queries, and more
// room if k is large: see finish_launch.hpp.
#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/scan/finish_kernel.cuh"
#include "starling/gpu/vectors/scan/finish_launch.hpp"

namespace starling::gpu {

void finish_lists_async(const CandidateLists& lists, std::uint32_t query_count,
                        VectorNeighbor* neighbors, const CudaStream& stream) {
  constexpr std::uint32_t k_small = 256;
  constexpr std::uint32_t room_small = 1024;
  constexpr std::uint32_t room_large = 4096;
  static_assert(room_large >= vector_k_max);
  constexpr std::uint32_t few = 256;
  if (query_count <= few) {
    const auto kernel = lists.k <= k_small ? vector_finish_kernel<room_small, finish_threads_few>
                                           : vector_finish_kernel<room_large, finish_threads_few>;
    traced_launch(kernel, {dim3(query_count), dim3(finish_threads_few)}, stream, lists, neighbors);
  } else {
    const auto kernel = lists.k <= k_small ? vector_finish_kernel<room_small, finish_threads_many>
                                           : vector_finish_kernel<room_large, finish_threads_many>;
    traced_launch(kernel, {dim3(query_count), dim3(finish_threads_many)}, stream, lists, neighbors);
  }
}

}  // namespace starling::gpu
