// SPDX-License-Identifier: Apache-2.0
// Allocates the queries and lists, and merges the lists that this device received from all devices:
// see shared_lists.hpp. DeviceSearcher calls these functions.
#include "starling/gpu/vectors/exchange/shared_lists.hpp"

#include "starling/gpu/vectors/corpus/lists_launch.hpp"

namespace starling::gpu {

SharedLists::SharedLists(DeviceMemory& memory, const CudaStream& stream, const Shape& shape)
    : stream_(stream),
      queries_(memory),
      found_(memory),
      others_(memory),
      received_(memory),
      drain_(stream) {
  const std::size_t entries = std::size_t{shape.queries} * shape.k;
  found_.reserve(entries);
  // A share has at most shape.queries / shape.devices + 1 queries.
  received_.reserve(entries + std::size_t{shape.devices} * shape.k);
  if (shape.dimension == 0) return;
  queries_.reserve(std::size_t{shape.queries} * shape.dimension);
  others_.reserve(entries);
}

void SharedLists::merge_async(std::uint32_t share, std::uint32_t k, std::uint32_t devices) {
  if (share == 0) return;
  const std::size_t entries = std::size_t{share} * k;
  for (std::uint32_t device = 1; device < devices; ++device)
    merge_lists_async(received_.data(), received_.data() + device * entries, share, k, stream_);
}

}  // namespace starling::gpu
