// SPDX-License-Identifier: Apache-2.0
// Exact k-NN over a tick's index. On the plane a thread serves each search if k is small and there
// are many searches; otherwise a warp does. In space eight or sixteen lanes serve each search.
// TickIndex and DevicePlan call these functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/points/index/grid_view.hpp"
#include "starling/gpu/points/index/layers.hpp"
#include "starling/gpu/points/index/tree_view.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"
#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::gpu {

/// One search, with all that it needs from its query.
struct SearchSpec {
  LatticePoint position;
  Slot anchor = no_slot;  ///< the followed object or the subject; it is never in the list
  std::uint32_t k = 0;
  std::uint32_t filter_number = 0;  ///< the index into SearchBatch::routes
  Filter filter;
};

/// Searches of one class of k (see k_class_limits), in spatial order. The pointers are device
/// pointers.
struct SearchBatch {
  const SearchSpec* specs = nullptr;     ///< [search]
  const std::uint64_t* rooms = nullptr;  ///< [search]: its first index in `neighbors`
  const std::uint32_t* order = nullptr;  ///< the numbers of the batch's searches
  std::uint32_t count = 0;               ///< how many searches the batch has
  std::uint32_t k_max = 0;               ///< no k of the batch is greater
  std::uint32_t few_max = 0;             ///< largest count of a batch that warps serve on the plane
  std::int64_t tau_us = 0;
  /// [filter number]: where searches look. Null if all searches look in layer 0.
  const FilterRoute* routes = nullptr;
  /// True if some searches must test objects for their filter.
  bool has_tests = true;

  /// The lists of the same searches in the last tick: the length of each list, its neighbours'
  /// slots, and the leaf of its nearest neighbour. The tree's search and the flat search start from
  /// these lists. The pointers are null if there are no such lists.
  const std::uint32_t* last_counts = nullptr;
  const Slot* last_slots = nullptr;
  const std::uint32_t* last_leaves = nullptr;

  std::uint32_t* counts = nullptr;  ///< written: how many neighbours each search found
  Neighbor* neighbors = nullptr;    ///< written: each list, nearest first, from rooms[number] on
  Slot* slots = nullptr;            ///< written: the slots of `neighbors`, at the same indices

  /// [search]: the leaf of its nearest neighbour, in the tree that was searched. The tree's search
  /// writes it. The flat search writes 0.
  std::uint32_t* leaves = nullptr;
  /// Working memory of the grid's search. The first entry is how many searches were postponed; the
  /// numbers of these searches follow.
  std::uint32_t* postponed = nullptr;
};

/// The greatest k of each class. Searches of one class run together. A search is in the first class
/// whose limit is not below its k. In a tree, eight lanes serve a search of the first two classes,
/// and sixteen lanes serve the others. In a grid, a thread may serve a search of the first two
/// classes, and a warp serves the others.
inline constexpr std::uint32_t k_class_limits[] = {16, 32, 128, 1024};

/// Enqueues the searches of a batch. Writes the batch's counts, neighbors and slots, and its leaves
/// or postponed.
void search_async(const GridView& grid, const ObjectsView& objects, const SearchBatch& batch,
                  const CudaStream& stream);
void search_async(const TreesView& trees, const ObjectsView& objects, const SearchBatch& batch,
                  const CudaStream& stream);

/// Searches, and where to write their spatial sort keys. The values to sort are the numbers of the
/// searches. `numbers` may be in any order. The pointers are device pointers.
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
void search_keys_async(const TreesView& trees, const ObjectsView& objects,
                       const SearchKeys<TreeKey>& searches, const CudaStream& stream);

}  // namespace starling::gpu
