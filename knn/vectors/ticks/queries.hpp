// SPDX-License-Identifier: Apache-2.0
// The standing queries of a vector space by slot, with the vectors of fixed anchors. VectorEngine
// owns a VectorQueries.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/knn/engine/staging.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

class VectorQueries {
 public:
  explicit VectorQueries(std::uint32_t dimension) : dimension_(dimension) {}

  /// Makes room for the slots of `rows`. May throw; apply does not.
  void make_room(std::span<const QueryRow> rows) {
    std::size_t slots = rows_.size();
    for (const QueryRow& row : rows) slots = std::max<std::size_t>(slots, row.slot + 1);
    components_.resize(slots * dimension_);
    is_other_search_.resize(slots);
    rows_.resize(slots);
  }

  /// `components` has one vector of dimension_ numbers for each row, as in Staging.
  void apply(std::span<const QueryRow> rows, std::span<const float> components) noexcept {
    for (const QueryRow& row : rows) {
      const auto given = components.first(dimension_);
      components = components.subspan(dimension_);
      const auto held = std::span(components_).subspan(row.slot * dimension_, dimension_);
      const bool is_fixed = row.anchor == AnchorKind::fixed;
      if (!is_same_search(rows_[row.slot], row) || (is_fixed && !std::ranges::equal(given, held)))
        is_other_search_[row.slot] = 1;
      if (is_fixed) std::ranges::copy(given, held.begin());
      rows_[row.slot] = row;
      has_changed_ = true;
    }
  }

  std::span<const QueryRow> rows() const { return rows_; }
  const QueryRow& row(Slot slot) const { return rows_[slot]; }
  std::span<const float> components() const { return components_; }
  const float* components(Slot slot) const { return components_.data() + slot * dimension_; }

  /// Returns true if a row was applied since the last finished tick.
  bool has_changed() const { return has_changed_; }
  /// Returns true if a row that was applied since the last finished tick gave this slot another
  /// query, or gave its query another k, anchor or filter.
  bool is_other_search(Slot slot) const { return is_other_search_[slot] != 0; }
  void finish_changes() {
    if (!has_changed_) return;
    has_changed_ = false;
    std::ranges::fill(is_other_search_, char{0});
  }

 private:
  static bool is_same_search(const QueryRow& a, const QueryRow& b) {
    return a.generation == b.generation && a.k == b.k && a.anchor == b.anchor &&
           a.object == b.object && a.filter == b.filter;
  }

  std::size_t dimension_;
  std::vector<QueryRow> rows_;
  std::vector<float> components_;
  std::vector<char> is_other_search_;
  bool has_changed_ = false;
};

}  // namespace starling
