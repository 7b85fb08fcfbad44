// SPDX-License-Identifier: Apache-2.0
// Tests what a replay of a log relies on: the same calls give each object the same slot, whatever
// the seed of the hash is, also in a table that was exported and imported in between.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "starling/knn/tables/object_table.hpp"
#include "tests/support/random.hpp"
#include "tests/support/words.hpp"

namespace starling {
namespace {

/// A table that takes random calls about few objects, so that slots are used again.
class RandomlyCalled {
 public:
  static constexpr std::uint64_t objects = 40;

  explicit RandomlyCalled(std::uint64_t hash_seed)
      : table_({.objects_max = 30,
                .object_ttl_us = 60,
                .tombstone_ttl_us = 30,
                .hash_seed = hash_seed}) {}

  void import_state(const ObjectTableState& state) { table_.import_state(state, half_); }
  ObjectTableState export_state() const { return table_.export_state(); }

  /// Makes one random call. `random` is a copy, so each table gets the same call.
  void call(test::Random random, std::int64_t now_us) {
    const std::uint64_t choice = random.below(16);
    const ObjectId id{random.below(objects)};
    const std::int64_t time_us = now_us - static_cast<std::int64_t>(random.below(40));
    UpdateStatus status{};
    if (choice < 8) {
      ObjectUpdate row = test::fix(id, time_us, 1);
      row.has_tags = random.chance(0.5);
      row.tags = static_cast<std::uint32_t>(random.below(4));
      table_.update({&row, 1}, now_us, {&status, 1}, half_);
    } else if (choice < 10) {
      const TagUpdate row{id, time_us, 1, 2};
      table_.update_tags({&row, 1}, now_us, {&status, 1}, half_);
    } else if (choice < 13) {
      const ObjectRemoval row{id, time_us};
      table_.remove({&row, 1}, now_us, {&status, 1}, half_);
    } else if (choice < 14) {
      const Slot slot = table_.follow(id, half_);
      if (slot != no_slot) followed_.push_back(slot);
    } else if (choice < 15 && !followed_.empty()) {
      table_.unfollow(followed_.back());
      followed_.pop_back();
    } else {
      while (!table_.prepare_tick(now_us, 7, half_)) continue;
      half_.clear();
    }
    statuses_.push_back(status);
  }

  std::vector<Slot> slots() const {
    std::vector<Slot> found;
    for (std::uint64_t id = 0; id < objects; ++id) found.push_back(table_.find(ObjectId{id}));
    return found;
  }
  const std::vector<UpdateStatus>& statuses() const { return statuses_; }
  /// Takes over the followed slots and the statuses of `other`.
  void go_on_from(const RandomlyCalled& other) {
    followed_ = other.followed_;
    statuses_ = other.statuses_;
  }

 private:
  ObjectTable table_;
  Staging half_;
  std::vector<Slot> followed_;
  std::vector<UpdateStatus> statuses_;
};

TEST(ObjectTableState, TablesWithOtherSeedsAndImportedOnesGiveTheSameSlots) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    test::Random random(seed);
    RandomlyCalled first(seed);
    RandomlyCalled other(~seed);
    std::unique_ptr<RandomlyCalled> imported;
    for (std::int64_t step = 0; step < 400; ++step) {
      if (step == 200) {
        imported = std::make_unique<RandomlyCalled>(seed + 1000);
        imported->import_state(first.export_state());
        imported->go_on_from(first);
      }
      const test::Random draws(random.next());
      for (RandomlyCalled* table : {&first, &other, imported.get()})
        if (table != nullptr) table->call(draws, step);
      for (const RandomlyCalled* table : {&other, imported.get()}) {
        if (table == nullptr) continue;
        ASSERT_EQ(table->slots(), first.slots()) << "seed " << seed << ", step " << step;
        ASSERT_EQ(table->statuses(), first.statuses()) << "seed " << seed << ", step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace starling
