// SPDX-License-Identifier: Apache-2.0
// The options of a VectorSearcher on one NVIDIA GPU or on several of one host. CUDA-free, so that
// gpu/backend.hpp can include it.
#pragma once

#include <cstdint>
#include <limits>

#include "starling/gpu/vectors/exchange/list_transport.hpp"
#include "starling/gpu/vectors/scan/filter_use.hpp"

namespace starling::gpu {

struct VectorSearcherOptions {
  int device = 0;  ///< CUDA device number
  /// The most device memory that the searcher may take. A corpus that does not fit is searched in
  /// parts, one after the other. Every search needs at least about 32 MiB.
  std::uint64_t memory_bytes_max = std::numeric_limits<std::uint64_t>::max();
  FilterOptions filter = {};
};

/// Says which rows of a corpus each device has if several devices answer together.
enum class RowPlacement : std::uint8_t {
  automatic,  ///< all rows if each device has room for all of them; else shares
  shares,     ///< device i of g has rows [n * i / g, n * (i + 1) / g) of n rows
};

/// The options that several devices have in common. Each device also has VectorSearcherOptions.
struct SplitOptions {
  RowPlacement placement = RowPlacement::automatic;
  ListTransport transport = ListTransport::automatic;
};

}  // namespace starling::gpu
