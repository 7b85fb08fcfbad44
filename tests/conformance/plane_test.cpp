// SPDX-License-Identifier: Apache-2.0
// Tests data that an index on the plane may handle wrongly: crowds, single objects far away, equal
// and nearly equal distances, and borders.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/conformance/conformance.hpp"
#include "tests/conformance/shapes.hpp"
#include "tests/support/words.hpp"

namespace starling::test {
namespace {

constexpr std::int32_t lattice_min = -(1 << 30);
constexpr std::int32_t lattice_max = (1 << 30) - 1;

/// A Twin with a stream that reports every change. put() numbers the objects in the order of its
/// calls.
class Plane : public Twin {
 public:
  explicit Plane(const EngineChoice& engine) : Twin(engine, {}) {
    put_stream(stream("all", ReportOn::distance));
  }

  ObjectId put(const LatticePoint& position, std::uint32_t tags = 0) {
    const ObjectId id{next_object_++};
    update(tagged(fix(id, time_us_, position), tags));
    return id;
  }
  void ask(std::uint32_t k, const Anchor& anchor, const Filter& filter = {}) {
    put_query(0, query(next_query_++, k, anchor, filter));
  }
  void ask_at_all_k(const Anchor& anchor, const Filter& filter = {}) {
    for (const std::uint32_t k : {1u, 9u, 10u, 11u, 16u, 17u, 32u, 33u, 200u})
      ask(k, anchor, filter);
  }
  void tick() { Twin::tick(time_us_++); }

  std::uint64_t objects() const { return next_object_; }
  std::int64_t time_us() const { return time_us_; }

 private:
  std::uint64_t next_object_ = 0;
  std::uint64_t next_query_ = 0;
  std::int64_t time_us_ = 0;
};

/// Returns a random point in the square that begins at `corner` and has sides of length `side`.
LatticePoint within(Random& random, const LatticePoint& corner, std::int32_t side) {
  const auto offset = [&] { return static_cast<std::int32_t>(random.between(0, side)); };
  const std::int32_t x = corner.x + offset();
  return {x, corner.y + offset(), 0};
}

TEST_P(Conformance, StraysAtTheEndsOfTheLatticeChangeNoAnswer) {
  for (const int strays : {1, 4, 400}) {
    SCOPED_TRACE("strays " + std::to_string(strays));
    Plane plane(engine());
    Random random(static_cast<std::uint64_t>(strays));
    const LatticePoint city{7'000'000, -3'000'000, 0};
    for (int i = 0; i < 8000; ++i) plane.put(within(random, city, 100'000));
    for (int i = 0; i < strays; ++i)
      plane.put({i % 2 == 0 ? lattice_min : lattice_max, i % 4 < 2 ? lattice_min : lattice_max, 0});
    for (int i = 0; i < 20; ++i) plane.ask_at_all_k(fixed_at(within(random, city, 100'000)));
    plane.ask_at_all_k(follow(ObjectId{8000}));
    plane.ask_at_all_k(fixed_at(lattice_max, lattice_min));
    plane.ask_at_all_k(fixed_at(0));
    plane.tick();
    for (std::uint64_t i = 0; i < 8000; i += 2)
      plane.update(fix(ObjectId{i}, plane.time_us(), within(random, city, 100'000)));
    plane.tick();
    for (std::uint64_t i = 8000; i < plane.objects(); ++i)
      plane.remove(ObjectId{i}, plane.time_us());
    plane.tick();
  }
}

TEST_P(Conformance, CrowdsOfEverySizeAreExactAndSoIsWhatLiesAroundThem) {
  for (const int crowd : {63, 64, 65, 500, 512, 513, 3000, 20'000})
    for (const std::int32_t side : {0, 3, 1000}) {
      SCOPED_TRACE("crowd " + std::to_string(crowd) + ", side " + std::to_string(side));
      Plane plane(engine());
      Random random(static_cast<std::uint64_t>(crowd));
      const LatticePoint spot{400'000, 600'000, 0};
      for (int i = 0; i < crowd; ++i) plane.put(within(random, spot, side));
      for (int i = 0; i < 2000; ++i) plane.put(within(random, {}, 1'000'000));
      plane.ask_at_all_k(fixed_at(spot));
      plane.ask_at_all_k(fixed_at(spot.x + side + 1, spot.y));
      plane.ask_at_all_k(follow(ObjectId{5}));
      plane.ask_at_all_k(fixed_at(spot), with_tags(1, 0));
      for (int i = 0; i < 10; ++i) plane.ask_at_all_k(fixed_at(within(random, {}, 1'000'000)));
      plane.tick();
      for (std::uint64_t i = 0; i < plane.objects(); i += 3)
        plane.update(tagged(fix(ObjectId{i}, plane.time_us(), within(random, spot, side)), 1));
      plane.tick();
      if (HasFailure()) return;
    }
}

TEST_P(Conformance, OfManyAtOnePointTheFollowedOneAloneIsLeftOut) {
  Plane plane(engine());
  Random random(1);
  for (int i = 0; i < 300; ++i) plane.put(within(random, {-5000, -5000, 0}, 10'000));
  for (int i = 0; i < 40; ++i) plane.put({17, 23, 0});
  for (const std::uint64_t followed : {300u, 301u, 320u, 338u, 339u})
    for (const std::uint32_t k : {1u, 10u, 16u, 32u, 38u, 39u, 40u, 41u})
      plane.ask(k, follow(ObjectId{followed}));
  plane.tick();
}

TEST_P(Conformance, TiesAtTheKthDistanceGoToTheSmallerIdWhereverTheyLie) {
  for (const std::int32_t scale : {1, 1000, 10'000'000}) {
    Plane plane(engine());
    Random random(2);
    for (int i = 0; i < 3000; ++i)
      plane.put(within(random, {30 * scale, 30 * scale, 0}, 30 * scale));
    std::vector<LatticePoint> ring;  // all points are 25 * scale away from the query
    for (const int sign_x : {-1, 1})
      for (const int sign_y : {-1, 1})
        for (const auto& [x, y] : {std::pair{7, 24}, {24, 7}, {15, 20}, {20, 15}})
          ring.push_back({sign_x * x * scale, sign_y * y * scale, 0});
    for (int turn = 0; turn < 3; ++turn) {
      std::ranges::rotate(ring, ring.begin() + 5);
      for (const LatticePoint& point : ring) plane.put(point);
    }
    for (std::uint32_t k = 1; k <= 50; ++k) plane.ask(k, fixed_at(0));
    plane.tick();
  }
}

TEST_P(Conformance, LargeListsAreExactWhereManyAreAsFar) {
  Plane plane(engine());
  Random random(3);
  for (int i = 0; i < 1500; ++i) plane.put({0, 0, 0});
  for (int i = 0; i < 2000; ++i) {  // groups of 20 at one point, on a line that suits no grid
    const auto group = static_cast<std::int32_t>(random.below(100));
    plane.put({group * 10'000'000, 0, 0});
  }
  for (int i = 0; i < 2000; ++i) plane.put(within(random, {-500, -500, 0}, 1000));
  for (const std::uint32_t k : {63u, 64u, 65u, 127u, 128u, 129u, 255u, 500u, 1000u, 1024u})
    for (const LatticePoint& place : {LatticePoint{0, 0, 0}, LatticePoint{3, 4, 0},
                                      LatticePoint{250'000'000, 0, 0}, LatticePoint{-5, 9, 0}}) {
      plane.ask(k, fixed_at(place));
      plane.ask(k, fixed_at(place), with_tags(1, 0));
      plane.ask(k, follow(ObjectId{random.below(plane.objects())}));
    }
  plane.tick();
  for (std::uint64_t i = 0; i < plane.objects(); i += 3)
    plane.update(tagged(fix(ObjectId{i}, plane.time_us(), within(random, {}, 2)), 1));
  plane.tick();
}

TEST_P(Conformance, DistancesThatDifferInTheirLastBitsAreOrderedExactly) {
  Plane plane(engine());
  constexpr std::int32_t far = 1'000'000'000;
  for (const std::int32_t i :
       {9, 3, 14, 0, 7, 1, 12, 5, 33, 2, 11, 40, 6, 8, 10, 4, 13, 20, 25, 30})
    plane.put({far, i, 0});
  for (std::uint32_t k = 1; k <= 20; ++k) {
    plane.ask(k, fixed_at(0));
    plane.ask(k, fixed_at(-far / 20, 15));
  }
  plane.tick();
}

TEST_P(Conformance, AFilterThatFewPassIsExactAmongMany) {
  Plane plane(engine());
  Random random(3);
  for (int i = 0; i < 6000; ++i) {
    std::uint32_t tags = i % 2 == 0 ? 0b1 : 0;
    if (i % 100 == 0) tags |= 0b10;
    if (i == 77) tags |= 0b100;
    plane.put(within(random, {}, 1'000'000), tags);
  }
  for (int i = 0; i < 10; ++i)
    for (const std::uint32_t tag : {0b1u, 0b10u, 0b100u, 0b1000u}) {
      plane.ask_at_all_k(fixed_at(within(random, {}, 1'000'000)), with_tags(tag, 0));
      plane.ask_at_all_k(follow(ObjectId{static_cast<std::uint64_t>(i)}), with_tags(tag, 0));
    }
  plane.tick();
}

TEST_P(Conformance, WhoLeavesAndComesBackIsThereOnce) {
  Plane plane(engine());
  Random random(4);
  for (int i = 0; i < 1500; ++i) plane.put(within(random, {}, 100'000));
  plane.ask(1024, fixed_at(50'000, 50'000));
  plane.ask(20, follow(ObjectId{0}));
  plane.tick();
  for (int round = 0; round < 8; ++round) {
    for (std::uint64_t i = 0; i < plane.objects(); ++i) {
      if (random.chance(0.2)) plane.remove(ObjectId{i}, plane.time_us());
      if (random.chance(0.2))
        plane.update(fix(ObjectId{i}, plane.time_us(), within(random, {}, 100'000)));
    }
    for (int i = 0; i < 20; ++i) plane.put(within(random, {}, 100'000));
    plane.tick();
  }
}

}  // namespace
}  // namespace starling::test
