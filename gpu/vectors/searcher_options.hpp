// SPDX-License-Identifier: Apache-2.0
// The options of a VectorSearcher on one NVIDIA GPU or on several of one host. CUDA-free, so that
// gpu/backend.hpp can include it.
#pragma once

#include <cstdint>
#include <limits>

#include "starling/gpu/vectors/exchange/list_transport.hpp"

namespace starling::gpu {

struct VectorSearcherOptions {
  int device = 0;  ///< its CUDA number
  /// The most device memory that it may take. A corpus that does not fit is searched in parts, one
  /// after the other. Every search needs at least about 32 MiB.
  std::uint64_t memory_bytes_max = std::numeric_limits<std::uint64_t>::max();
  /// Whether searches of many queries may use the filter (docs/decisions/0007-vector-filter.md).
  bool may_filter = true;
};

/// Which rows of a corpus a device has if several answer together.
enum class RowPlacement : std::uint8_t {
  automatic,  ///< all rows if they fit each device at once, else shares
  shares,     ///< device i of g has the rows of n from n * i / g to n * (i + 1) / g
};

/// The options that several devices have in common, beside each one's own.
struct SplitOptions {
  RowPlacement placement = RowPlacement::automatic;
  ListTransport transport = ListTransport::automatic;
};

}  // namespace starling::gpu
