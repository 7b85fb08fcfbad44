// SPDX-License-Identifier: Apache-2.0
// Divides the device memory of a DeviceSearcher among the corpus, the workspace, and queries with
// their lists. No function here allocates.
#pragma once

#include <cstdint>

#include "starling/gpu/vectors/corpus/device_vectors.hpp"
#include "starling/gpu/vectors/scan/filter_use.hpp"

namespace starling::gpu {

struct MemoryPlan {
  std::uint32_t part_rows = 1;  ///< rows of the corpus that are on the device at once
  /// The corpus's shadow; only if all rows of the corpus are on the device.
  Shadow shadow = Shadow::none;
  std::uint64_t workspace_bytes = 0;
  std::uint64_t transfer_bytes = 0;  ///< bytes of the pieces on the device: queries and lists

  bool operator==(const MemoryPlan&) const = default;
};

/// Returns the plan for `bytes` of device memory. Throws std::runtime_error if this memory is too
/// little; the message says how many bytes are needed.
MemoryPlan plan_memory(Metric metric, VectorsView corpus, const FilterOptions& filter,
                       std::uint64_t bytes);

/// Returns true if all rows of `corpus` fit into `bytes` of device memory at once.
bool fits_memory(VectorsView corpus, std::uint64_t bytes);

/// Returns the bytes that one query and its list take on the device.
std::uint64_t query_bytes(std::uint32_t dimension, std::uint32_t k);

}  // namespace starling::gpu
