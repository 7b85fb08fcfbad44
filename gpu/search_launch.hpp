// Exact k-NN over a DeviceTree: eight lanes a search, sixteen for large k.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/objects_launch.hpp"
#include "gpu/stream.hpp"
#include "gpu/tree_view.hpp"
#include "knn/filter.hpp"
#include "knn/types.hpp"

namespace starling::gpu {

/// One search, with all that it needs of its query.
struct SearchSpec {
  LatticePoint position;
  Slot anchor = no_slot;  ///< the object followed, or the subject: excluded from its own list
  std::uint32_t k = 0;
  Filter filter;
};

/// Searches of one size class, by their numbers in an order of place. Device pointers.
struct SearchBatch {
  const SearchSpec* specs = nullptr;     ///< by search
  const std::uint64_t* rooms = nullptr;  ///< by search: index of its first neighbour
  const std::uint32_t* order = nullptr;  ///< the searches of the batch
  std::uint32_t count = 0;               ///< of the batch
  std::uint32_t k_max = 0;               ///< at least every k of the batch
  std::int64_t tau_us = 0;

  /// Of the same searches' lists last tick, to start from; null: there are none.
  const std::uint32_t* last_counts = nullptr;
  const Slot* last_slots = nullptr;
  const std::uint32_t* last_leaves = nullptr;

  std::uint32_t* counts = nullptr;  ///< written, by search: how many were found
  Neighbor* neighbors = nullptr;    ///< written from rooms on, nearest first
  Slot* slots = nullptr;            ///< written: the same neighbours' slots
  std::uint32_t* leaves = nullptr;  ///< written, by search: the nearest's leaf
};

/// Searches of like k are searched together: each is in the first class that holds its k. In the
/// first two eight lanes serve a search, in the others sixteen.
inline constexpr std::uint32_t k_class_limits[] = {16, 32, 128, 1024};

template <int dimensions>
void search_async(const TreeView<dimensions>& tree, const ObjectsView& objects,
                  const SearchBatch& batch, const Stream& stream);

/// The places of searches as sort keys, with their numbers: `numbers[i]` is any permutation.
template <int dimensions>
void search_keys_async(const TreeView<dimensions>& tree, const ObjectsView& objects,
                       const SearchSpec* specs, const std::uint32_t* numbers, std::uint32_t count,
                       typename TreeTypes<dimensions>::Key* keys, std::uint32_t* values,
                       const Stream& stream);

}  // namespace starling::gpu
