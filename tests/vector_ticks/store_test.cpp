// SPDX-License-Identifier: Apache-2.0
// Compares a store by itself with a plain map of its rows. The rows are new, overwritten, dead or
// masked, and the store grows.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/random.hpp"
#include "tests/support/vector_oracle.hpp"
#include "tests/vector_ticks/vector_ticks.hpp"

namespace starling::test {
namespace {

using Components = std::vector<float>;
using Mask = std::vector<std::uint64_t>;

constexpr std::uint32_t dimension = 5;

class TwinStore {
 public:
  TwinStore(const StoreChoice& choice, Metric metric, std::uint64_t seed)
      : metric_(metric), random_(seed) {
    SpaceOptions space;
    space.space = Space::vector;
    space.dimension = dimension;
    space.metric = metric;
    store_ = choice.make(space, 2);
  }

  /// Applies new rows. Each slot below `slots` gets one with probability `touched`. Some of the
  /// rows are dead.
  void apply(Slot slots, double touched) {
    slots_.clear();
    alive_.clear();
    components_.clear();
    for (Slot slot = 0; slot < slots; ++slot) {
      if (!random_.chance(touched)) continue;
      const std::size_t i = slots_.size();
      slots_.push_back(slot);
      alive_.resize(i / 64 + 1);
      const Components row = draw();
      components_.insert(components_.end(), row.begin(), row.end());
      if (random_.chance(0.2)) {
        rows_.erase(slot);
      } else {
        alive_[i / 64] |= std::uint64_t{1} << i % 64;
        rows_[slot] = row;
      }
      slot_count_ = std::max(slot_count_, slot + 1);
    }
    store_->apply(applied());
  }

  void compare(std::size_t queries, std::uint32_t k) {
    draw_queries(queries);
    std::vector<VectorNeighbor> lists(queries * k);
    Mask words = draw_masks((slot_count_ + 63) / 64, [](Slot slot) { return slot; }, slot_count_);
    const VectorMasks by_slot{words, (slot_count_ + 63) / 64};
    store_->nearest(queries_, by_slot, k, lists);
    for (std::size_t i = 0; i < queries; ++i) {
      std::vector<VectorNeighbor> expected = scores_of(i, by_slot, nullptr);
      expected.resize(k, {std::numeric_limits<float>::infinity(), no_row});
      const auto list = std::span(lists).subspan(i * k, k);
      EXPECT_TRUE(std::ranges::equal(list, expected)) << "query " << i;
    }
    std::vector<VectorMatch> matches;
    store_->near_any(queries_, by_slot, matches);
    expect_matches(matches, by_slot, nullptr);

    words = draw_masks(
        alive_.size(), [&](Slot i) { return slots_[i]; }, slots_.size());
    const VectorMasks by_index{words, alive_.size()};
    matches.clear();
    store_->near_applied(applied(), queries_, by_index, matches);
    expect_matches(matches, by_index, &slots_);

    std::vector<Slot> living;
    for (const auto& [slot, row] : rows_) living.push_back(slot);
    Components read(living.size() * dimension);
    store_->read(living, read);
    for (std::size_t i = 0; i < living.size(); ++i)
      EXPECT_TRUE(
          std::ranges::equal(std::span(read).subspan(i * dimension, dimension), rows_[living[i]]));
  }

 private:
  Components draw() {
    Components row(dimension);
    for (float& component : row) component = static_cast<float>(random_.between(-2, 2));
    return row;
  }

  VectorRows applied() const { return {slots_, alive_, {components_, dimension}}; }

  void draw_queries(std::size_t count) {
    queries_.clear();
    held_.clear();
    for (std::size_t i = 0; i < count; ++i) held_.push_back(draw());
    for (std::size_t i = 0; i < count; ++i) {
      VectorQuery query;
      const bool is_row = !rows_.empty() && random_.chance(0.5);
      if (is_row) {
        auto row = rows_.begin();
        std::advance(row, random_.below(rows_.size()));
        query.self = row->first;
        held_[i] = row->second;
      } else {
        query.components = held_[i].data();
      }
      if (random_.chance(0.5)) query.mask = static_cast<std::uint32_t>(random_.below(2));
      query.score_max = static_cast<float>(random_.between(-4, 30));
      if (random_.chance(0.1)) query.score_max = std::numeric_limits<float>::infinity();
      queries_.push_back(query);
    }
  }

  /// Returns two masks, one after the other. Only the bits of living rows may be set.
  template <class SlotOf>
  Mask draw_masks(std::size_t words_each, const SlotOf& slot_of, std::size_t count) {
    Mask words(2 * words_each);
    for (std::size_t mask = 0; mask < 2; ++mask)
      for (std::size_t i = 0; i < count; ++i)
        if (rows_.contains(slot_of(static_cast<Slot>(i))) && random_.chance(mask == 0 ? 0.5 : 0.02))
          words[mask * words_each + i / 64] |= std::uint64_t{1} << i % 64;
    return words;
  }

  /// Returns the rows that the mask of query `query` allows, sorted by score and slot. If `slots`
  /// is nullptr, bit i of the mask stands for slot i. Otherwise it stands for slot (*slots)[i].
  std::vector<VectorNeighbor> scores_of(std::size_t query, const VectorMasks& masks,
                                        const std::vector<Slot>* slots) const {
    std::vector<VectorNeighbor> scores;
    const VectorQuery& asked = queries_[query];
    const auto consider = [&](Slot slot, std::size_t bit) {
      const auto row = rows_.find(slot);
      if (row == rows_.end() || slot == asked.self) return;
      if (asked.mask != no_mask && (masks.of(asked.mask)[bit / 64] >> bit % 64 & 1) == 0) return;
      scores.push_back({vector_oracle_score(metric_, held_[query], row->second), slot});
    };
    if (slots == nullptr)
      for (Slot slot = 0; slot < slot_count_; ++slot) consider(slot, slot);
    else
      for (std::size_t i = 0; i < slots->size(); ++i) consider((*slots)[i], i);
    std::ranges::sort(scores);
    return scores;
  }

  void expect_matches(std::vector<VectorMatch> matches, const VectorMasks& masks,
                      const std::vector<Slot>* slots) const {
    std::ranges::sort(matches, {},
                      [](const VectorMatch& match) { return std::pair(match.query, match.row); });
    auto match = matches.begin();
    for (std::size_t i = 0; i < queries_.size(); ++i)
      for (const VectorNeighbor& row : scores_of(i, masks, slots)) {
        if (row.score > queries_[i].score_max) continue;
        ASSERT_TRUE(match != matches.end()) << "query " << i;
        EXPECT_EQ(match->query, i);
        EXPECT_EQ(match->row.row, row.row);
        EXPECT_EQ(match->row.score, row.score);
        ++match;
      }
    EXPECT_TRUE(match == matches.end()) << "there are more matches than expected";
  }

  Metric metric_;
  Random random_;
  std::unique_ptr<VectorStore> store_;
  std::map<Slot, Components> rows_;  ///< the living rows
  Slot slot_count_ = 0;
  std::vector<Slot> slots_;  ///< the rows of the last apply, with alive_ and components_
  Mask alive_;
  Components components_;
  std::vector<VectorQuery> queries_;
  std::vector<Components> held_;  ///< the queries' components
};

TEST_P(VectorTicks, AStoreAloneEqualsAPlainMapOfItsRows) {
  for (const std::uint64_t seed : seeds(10)) {
    SCOPED_TRACE(replay_hint(seed));
    for (const Metric metric : {Metric::l2, Metric::inner_product}) {
      TwinStore store(GetParam(), metric, seed);
      store.compare(3, 4);  // the store is empty
      for (const Slot slots : {1u, 33u, 64u, 65u, 200u, 200u, 1500u, 1500u}) {
        store.apply(slots, slots % 2 == 0 ? 0.3 : 1.0);
        store.compare(1, 1);
        store.compare(9, 33);
        store.compare(150, 5);
      }
      store.apply(1500, 0);
      store.compare(3, 1600);
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace starling::test
