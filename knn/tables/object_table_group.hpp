// SPDX-License-Identifier: Apache-2.0
// Working memory for updates on several threads. ObjectTable owns and reuses it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "starling/knn/tables/object_table.hpp"

namespace starling {

/// Consecutive rows of a batch.
struct ObjectTable::GroupPiece {
  static constexpr std::size_t rows_max = 4096;
  static constexpr std::size_t share_count = 64;
  static constexpr std::size_t unknown = share_count;  ///< the share of rows of unknown objects

  std::size_t batch = 0;
  std::size_t begin = 0;      ///< its first row in the batch
  std::size_t row_begin = 0;  ///< its first row in the group
  std::uint32_t count = 0;
  /// The rows of each share are order[row_begin + first[share]] up to first[share + 1].
  std::array<std::uint16_t, share_count + 2> first{};
};

/// The rows of several batches, cut into *pieces* of consecutive rows. Threads look up the objects
/// of different pieces at the same time. The rows of each piece are then divided among *shares*, by
/// the slot of their object, and threads apply different shares at the same time.
struct ObjectTable::Group {
  static constexpr std::size_t share_count = GroupPiece::share_count;
  static constexpr std::size_t unknown = GroupPiece::unknown;
  /// Objects with neighbouring slots are in one share, so that two threads seldom write to the same
  /// cache line. If producers send their objects in the order of slots, the rows of a share are
  /// also next to each other.
  static constexpr Slot slots_a_run = 64;

  static std::size_t share_of(Slot slot) { return slot / slots_a_run % share_count; }

  std::vector<GroupPiece> pieces;
  std::vector<Slot> slots;           ///< [row of the group]
  std::vector<std::uint16_t> order;  ///< [row of the group]: rows of its piece, share after share
  /// The slots that need a row in the staging half, share after share.
  std::vector<Slot> newly_staged;
  std::array<std::size_t, share_count + 1> share_begin{};  ///< indexes into newly_staged
  std::array<std::size_t, share_count> newly_staged_count{};
  std::array<Totals, share_count> totals;
};

}  // namespace starling
