// SPDX-License-Identifier: Apache-2.0
// Finds the slot of a query by its stream and id. The registry consists of many small hash tables,
// so that the growth of one takes little time. Clients choose the ids, so the hash depends on a
// secret seed. QueryTable owns a QueryRegistry.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "starling/knn/base/seeded_hash.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

class QueryRegistry {
 public:
  explicit QueryRegistry(std::uint64_t seed)
      : id_hash_(seed), factor_(mixed_bits(seed ^ golden_gamma) | 1), tables_(table_count) {}

  /// Returns the slot of the query, or no_slot.
  Slot find(StreamId stream, QueryId id) const {
    const std::uint64_t hash = hash_of(stream, id);
    const Table& table = table_of(hash);
    if (table.cells.empty()) return no_slot;
    for (std::size_t cell = hash & table.mask();; cell = (cell + 1) & table.mask()) {
      const Cell& each = table.cells[cell];
      if (each.slot == no_slot || each.is_of(stream, id)) return each.slot;
    }
  }

  /// The query must be absent.
  void insert(StreamId stream, QueryId id, Slot slot) {
    const std::uint64_t hash = hash_of(stream, id);
    Table& table = table_of(hash);
    if ((table.count + 1) * 4 > table.cells.size() * 3) grow(table);
    ++table.count;
    place(table, hash, {to_number(id), stream, slot});
  }

  /// The query must be present. Shifts later cells back into the gap.
  void erase(StreamId stream, QueryId id) {
    const std::uint64_t hash = hash_of(stream, id);
    Table& table = table_of(hash);
    const std::size_t mask = table.mask();
    std::size_t gap = hash & mask;
    while (!table.cells[gap].is_of(stream, id)) gap = (gap + 1) & mask;
    for (std::size_t cell = (gap + 1) & mask; table.cells[cell].slot != no_slot;
         cell = (cell + 1) & mask) {
      const std::size_t wanted = hash_of(table.cells[cell]) & mask;
      if (((cell - wanted) & mask) < ((cell - gap) & mask)) continue;
      table.cells[gap] = table.cells[cell];
      gap = cell;
    }
    table.cells[gap] = {};
    --table.count;
  }

 private:
  static constexpr std::size_t table_count = 256;
  static constexpr std::size_t cells_min = 16;

  struct Cell {
    std::uint64_t id = 0;
    StreamId stream{};
    Slot slot = no_slot;
    bool is_of(StreamId the_stream, QueryId the_id) const {
      return slot != no_slot && id == to_number(the_id) && stream == the_stream;
    }
  };
  struct Table {
    std::vector<Cell> cells;  ///< size is a power of two; at most three quarters are in use
    std::size_t count = 0;
    std::size_t mask() const { return cells.size() - 1; }
  };

  std::uint64_t hash_of(StreamId stream, QueryId id) const {
    return folded_product(id_hash_(to_number(id)) ^ static_cast<std::uint64_t>(stream), factor_);
  }
  std::uint64_t hash_of(const Cell& cell) const { return hash_of(cell.stream, QueryId{cell.id}); }
  // The upper bits of a hash choose the table, the lower bits choose the cell.
  const Table& table_of(std::uint64_t hash) const { return tables_[hash >> 56]; }
  Table& table_of(std::uint64_t hash) { return tables_[hash >> 56]; }

  static void place(Table& table, std::uint64_t hash, const Cell& cell) {
    std::size_t index = hash & table.mask();
    while (table.cells[index].slot != no_slot) index = (index + 1) & table.mask();
    table.cells[index] = cell;
  }

  void grow(Table& table) {
    std::vector<Cell> old(table.cells.empty() ? cells_min : table.cells.size() * 2);
    old.swap(table.cells);
    for (const Cell& cell : old)
      if (cell.slot != no_slot) place(table, hash_of(cell), cell);
  }

  SeededHash id_hash_;
  std::uint64_t factor_;
  std::vector<Table> tables_;
};

}  // namespace starling
