// Exact k-NN over an index of a tick. On the plane a thread serves a search where k is small and
// searches are many, else a warp; in space eight lanes do, or sixteen.
#pragma once

#include <cstddef>
#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/points/index/grid_view.hpp"
#include "starling/gpu/points/index/tree_view.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"
#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/types.hpp"

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
  std::uint32_t few_max = 0;             ///< on the plane: so few are done by a warp each
  std::int64_t tau_us = 0;

  /// For the tree, of the same searches' lists last tick, to start from; null: there are none.
  const std::uint32_t* last_counts = nullptr;
  const Slot* last_slots = nullptr;
  const std::uint32_t* last_leaves = nullptr;

  std::uint32_t* counts = nullptr;  ///< written, by search: how many were found
  Neighbor* neighbors = nullptr;    ///< written from rooms on, nearest first
  Slot* slots = nullptr;            ///< written: the same neighbours' slots

  /// The tree's: written, by search: the leaf of its nearest.
  std::uint32_t* leaves = nullptr;
  /// The grid's to work in: how many searches a warp does after all, and their numbers.
  std::uint32_t* postponed = nullptr;
};

/// Searches of like k are searched together: each is in the first class that holds its k. In the
/// first two a thread of the grid's serves a search or eight lanes of the tree's, in the others a
/// warp or sixteen lanes.
inline constexpr std::uint32_t k_class_limits[] = {16, 32, 128, 1024};

void search_async(const GridView& grid, const ObjectsView& objects, const SearchBatch& batch,
                  const CudaStream& stream);
void search_async(const TreeView& tree, const ObjectsView& objects, const SearchBatch& batch,
                  const CudaStream& stream);

/// The places of searches as sort keys, with their numbers: `numbers[i]` is any permutation.
template <class Key>
struct SearchKeys {
  const SearchSpec* specs = nullptr;
  const std::uint32_t* numbers = nullptr;
  std::uint32_t count = 0;
  Key* keys = nullptr;              ///< written
  std::uint32_t* values = nullptr;  ///< written
};
void search_keys_async(const GridView& grid, const ObjectsView& objects,
                       const SearchKeys<GridKey>& searches, const CudaStream& stream);
void search_keys_async(const TreeView& tree, const ObjectsView& objects,
                       const SearchKeys<TreeKey>& searches, const CudaStream& stream);

}  // namespace starling::gpu
