// Exact k-NN over all slots without an index: a small tick is answered before one would be built.
#pragma once

#include <cstdint>

#include "gpu/objects_launch.hpp"
#include "gpu/search_launch.hpp"
#include "gpu/stream.hpp"

namespace starling::gpu {

/// Of slots. A block reads them all for each search.
inline constexpr std::uint32_t flat_slots_max = std::uint32_t{1} << 14;

void flat_search_async(const ObjectsView& objects, const SearchBatch& batch, const Stream& stream);

}  // namespace starling::gpu
