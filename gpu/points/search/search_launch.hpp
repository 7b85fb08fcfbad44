// SPDX-License-Identifier: Apache-2.0
// Exact k-NN over a tick's index. On the plane a thread serves a search if k is small and searches
// are many, otherwise a warp does. In space eight or sixteen lanes serve a search. TickIndex and
// DevicePlan call these functions.
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
  Slot anchor = no_slot;  ///< the followed object or the subject: not in its own list
  std::uint32_t k = 0;
  std::uint32_t filter_number = 0;  ///< the index into SearchBatch::routes
  Filter filter;
};

/// Searches of one class of k, in spatial order. Device pointers.
struct SearchBatch {
  const SearchSpec* specs = nullptr;     ///< by search
  const std::uint64_t* rooms = nullptr;  ///< for each search: the index of its first neighbour
  const std::uint32_t* order = nullptr;  ///< the numbers of the batch's searches
  std::uint32_t count = 0;               ///< how many searches the batch has
  std::uint32_t k_max = 0;               ///< no k of the batch is greater
  std::uint32_t few_max = 0;             ///< on the plane: warps serve batches up to this count
  std::int64_t tau_us = 0;
  /// By filter number: where searches look. Null: all searches look in layer 0.
  const FilterRoute* routes = nullptr;
  /// Whether some searches must test objects for their filter.
  bool has_tests = true;

  /// The lists of the same searches in the last tick: the length of each list, its neighbours'
  /// slots, and its nearest neighbour's leaf. The tree's search and the flat search start from
  /// these lists. Null if there are none.
  const std::uint32_t* last_counts = nullptr;
  const Slot* last_slots = nullptr;
  const std::uint32_t* last_leaves = nullptr;

  std::uint32_t* counts = nullptr;  ///< written: how many neighbours each search found
  Neighbor* neighbors = nullptr;    ///< written from rooms[search] on, nearest first
  Slot* slots = nullptr;            ///< written: the same neighbours' slots

  /// Written by the tree's search: for each search in layer 0, the leaf of its nearest neighbour.
  std::uint32_t* leaves = nullptr;
  /// Working memory of the grid's search: first how many searches were postponed, then the numbers
  /// of the postponed searches.
  std::uint32_t* postponed = nullptr;
};

/// The greatest k of each class. Searches of one class run together; a search is in the first class
/// whose limit is not below its k. In the first two classes a thread (grid) or eight lanes (tree)
/// serve a search, in the others a warp (grid) or sixteen lanes (tree).
inline constexpr std::uint32_t k_class_limits[] = {16, 32, 128, 1024};

/// Enqueues the searches of a batch.
void search_async(const GridView& grid, const ObjectsView& objects, const SearchBatch& batch,
                  const CudaStream& stream);
void search_async(const TreesView& trees, const ObjectsView& objects, const SearchBatch& batch,
                  const CudaStream& stream);

/// Spatial sort keys of searches, with the searches' numbers as values. `numbers` may be in any
/// order. Device pointers.
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
