// SPDX-License-Identifier: Apache-2.0
// Compares ObjectRegistry with std::unordered_map under random inserts and erasures. Some tests use
// ids that are chosen to collide.
#include "starling/knn/tables/object_registry.hpp"

#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/random.hpp"

namespace starling {
namespace {

struct Record {
  ObjectId id{};
};
using Records = std::vector<Record>;

/// Inserts and erases ids as ObjectTable does. A freed slot is used again.
class Fleet {
 public:
  explicit Fleet(std::uint64_t seed) : registry_(seed) {}

  void insert(ObjectId id) {
    if (free_.empty()) {
      free_.push_back(static_cast<Slot>(records_.size()));
      records_.emplace_back();
    }
    const Slot slot = free_.back();
    free_.pop_back();
    records_[slot].id = id;
    registry_.insert(id, slot, records_);
  }
  void erase(ObjectId id) {
    free_.push_back(find(id));
    registry_.erase(id, records_);
    records_[free_.back()].id = ObjectId{};
  }
  Slot find(ObjectId id) const { return registry_.find(id, records_); }
  std::uint64_t bytes_used() const { return registry_.bytes_used(); }

 private:
  ObjectRegistry<Records> registry_;
  Records records_;
  std::vector<Slot> free_;
};

TEST(ObjectRegistry, KnowsNothingAtFirst) {
  const Fleet fleet(0);
  EXPECT_EQ(fleet.find(ObjectId{0}), no_slot);
  EXPECT_EQ(fleet.find(ObjectId{~std::uint64_t{0}}), no_slot);
}

TEST(ObjectRegistry, FindsAllIdsForWhichItReservedRoom) {
  Records records;
  ObjectRegistry<Records> registry(7);
  constexpr Slot count = 5000;
  const auto insert = [&](Slot slot) {
    records.push_back({ObjectId{std::uint64_t{slot} * 977}});
    registry.insert(records.back().id, slot, records);
  };
  for (Slot slot = 0; slot < 10; ++slot) insert(slot);
  registry.reserve(count, count, records);
  const auto bytes = registry.bytes_used();
  for (Slot slot = 10; slot < count; ++slot) insert(slot);
  EXPECT_EQ(registry.bytes_used(), bytes) << "it has grown all the same";
  for (Slot slot = 0; slot < count; ++slot)
    EXPECT_EQ(registry.find(records[slot].id, records), slot);
  EXPECT_EQ(registry.find(ObjectId{1}, records), no_slot);
}

TEST(ObjectRegistry, EqualsAMapUnderRandomInsertsAndErasures) {
  for (const std::uint64_t seed : test::seeds(20)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    Fleet fleet(random.next());
    std::unordered_map<std::uint64_t, Slot> expected;
    const std::uint64_t universe = std::uint64_t{1} << random.between(1, 12);
    for (int step = 0; step < 20'000; ++step) {
      const ObjectId id{random.below(universe)};
      const auto known = expected.find(to_number(id));
      ASSERT_EQ(fleet.find(id), known == expected.end() ? no_slot : known->second);
      if (known != expected.end()) {
        fleet.erase(id);
        expected.erase(known);
      } else {
        fleet.insert(id);
        expected[to_number(id)] = fleet.find(id);
      }
    }
    for (std::uint64_t id = 0; id < universe; ++id)
      ASSERT_EQ(fleet.find(ObjectId{id}) != no_slot, expected.contains(id));
  }
}

// Returns how many of 4096 groups of cells get at least one of the 4096 ids 0, stride, 2 stride,
// ...
std::size_t groups_used(std::uint64_t seed, std::uint64_t stride) {
  constexpr int group_bits = 12;
  const ObjectRegistry<Records> registry(seed);
  std::set<std::uint64_t> used;
  for (std::uint64_t i = 0; i < std::uint64_t{1} << group_bits; ++i)
    used.insert((registry.hash(ObjectId{i * stride}) & 0xffffffff) >> (32 - group_bits));
  return used.size();
}

TEST(ObjectRegistry, RegularIdsSpreadOverTheCellsWithEverySeed) {
  test::Random random(19);
  for (const std::uint64_t seed :
       {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, random.next(), random.next()})
    for (const int stride_bits : {0, 1, 8, 20, 32, 48})
      EXPECT_GT(groups_used(seed, std::uint64_t{1} << stride_bits), 1024)
          << "seed " << seed << ", stride 2^" << stride_bits << "; random ids use about 2589";
}

TEST(ObjectRegistry, KeepsEverySlotThroughGrowth) {
  Fleet fleet(1);
  constexpr std::uint64_t count = 100'000;
  for (std::uint64_t i = 0; i < count; ++i) fleet.insert(ObjectId{i * 0x1'0000'0000});
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(fleet.find(ObjectId{i << 32}), i);
  EXPECT_EQ(fleet.find(ObjectId{1}), no_slot);
}

TEST(ObjectRegistry, TakesAtMostEightBytesAnObject) {
  for (const std::uint64_t count : {10'000u, 52'500u, 100'000u}) {
    Fleet fleet(1);
    for (std::uint64_t i = 0; i < count; ++i) fleet.insert(ObjectId{i});
    EXPECT_LE(fleet.bytes_used(), count * 8) << count;
  }
}

TEST(ObjectRegistry, ASlotFarBeyondTheNumberOfIdsIsKeptWhole) {
  constexpr Slot far = 1'000'000;
  Records records(far + 1);
  ObjectRegistry<Records> registry(3);
  records[far].id = ObjectId{7};
  records[2].id = ObjectId{8};
  registry.insert(ObjectId{7}, far, records);
  registry.insert(ObjectId{8}, 2, records);
  EXPECT_EQ(registry.find(ObjectId{7}, records), far);
  EXPECT_EQ(registry.find(ObjectId{8}, records), 2u);
}

// With seed 0 the hash of this id has all bits set, so its cell has only the bits of its slot.
TEST(ObjectRegistry, FindsAnIdWhoseHashHasAllBitsSetInEverySlot) {
  const ObjectId last{~std::uint64_t{0}};
  ASSERT_EQ(ObjectRegistry<Records>(0).hash(last), ~std::uint64_t{0});
  for (Slot slot = 0; slot < 300; ++slot) {
    Fleet fleet(0);
    for (Slot id = 0; id < slot; ++id) fleet.insert(ObjectId{id});
    fleet.insert(last);
    ASSERT_EQ(fleet.find(last), slot);
  }
}

TEST(ObjectRegistry, NearlyAlwaysGuessesTheSlotOfAKnownIdFromItsHash) {
  constexpr std::uint64_t count = 100'000;
  Records records(count);
  ObjectRegistry<Records> registry(5);
  for (Slot slot = 0; slot < count; ++slot) {
    records[slot].id = ObjectId{std::uint64_t{slot} * 977};
    registry.insert(records[slot].id, slot, records);
  }
  std::size_t wrong = 0;
  for (Slot slot = 0; slot < count; ++slot)
    wrong += registry.likely_slot(registry.hash(records[slot].id)) != slot;
  EXPECT_LE(wrong, count / 1000);
}

}  // namespace
}  // namespace starling
