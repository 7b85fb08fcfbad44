// SPDX-License-Identifier: Apache-2.0
// Tests sizes at which a block, a warp or a list is empty, exactly full, or has one element too
// many. Tests them for every shape of data in every space.
#include <algorithm>
#include <set>
#include <string>

#include "tests/conformance/conformance.hpp"
#include "tests/conformance/shapes.hpp"
#include "tests/support/words.hpp"

namespace starling::test {
namespace {

constexpr std::uint32_t list_max = 1024;

struct Crowd {
  Space space = Space::planar2;
  Shape shape = Shape::uniform;
  std::uint64_t objects = 0;
  std::uint32_t k = 1;
  bool graph = true;  ///< true: there is also an every-object query
};

// Runs two ticks and compares them with the oracle. In the first tick all objects appear. In the
// second tick every other object moves.
void expect_exact(const EngineChoice& engine, const Crowd& crowd) {
  SCOPED_TRACE(std::string(to_string(crowd.space)) + ", " + std::string(to_string(crowd.shape)) +
               ", objects " + std::to_string(crowd.objects) + ", k " + std::to_string(crowd.k));
  TwinOptions options;
  options.space = crowd.space;
  Random random(crowd.objects * 2048 + crowd.k);
  PointSource points(crowd.space, crowd.shape, random);
  Twin twin(engine, options);
  twin.put_stream(stream("all", ReportOn::distance));

  for (std::uint64_t i = 0; i < crowd.objects; ++i) twin.update(fix(ObjectId{i}, 0, points.next()));
  for (std::uint64_t i = 0; i < 5; ++i)
    twin.put_query(0, query(i, crowd.k, fixed_at(points.next())));
  twin.put_query(0, query(5, crowd.k, fixed_at({})));
  twin.put_query(0, query(6, crowd.k, fixed_at({(1 << 30) - 1, -(1 << 30), 0})));
  twin.put_query(0, query(7, crowd.k, follow(ObjectId{0})));
  if (crowd.graph) twin.put_query(0, query(8, crowd.k, every_object()));
  twin.tick(0);
  for (std::uint64_t i = 0; i < crowd.objects; i += 2)
    twin.update(fix(ObjectId{i}, 1, points.next()));
  twin.tick(1);
}

void expect_exact_at_every_size(const EngineChoice& engine, Space space) {
  for (const Shape shape : shapes_of(space))
    for (const std::uint32_t k : {1u, 2u, 8u, 31u, 32u, 33u, 100u, list_max})
      for (const std::uint64_t objects :
           std::set<std::uint64_t>{0, 1, k - 1, k, k + 1, 31, 32, 33}) {
        expect_exact(engine, {space, shape, objects, k, objects <= 128});
        if (::testing::Test::HasFailure()) return;
      }
}

TEST_P(Conformance, EverySizeIsExactInPlanar2) {
  expect_exact_at_every_size(engine(), Space::planar2);
}

TEST_P(Conformance, EverySizeIsExactInPlanar3) {
  expect_exact_at_every_size(engine(), Space::planar3);
}

TEST_P(Conformance, EverySizeIsExactInWgs84) {
  expect_exact_at_every_size(engine(), Space::wgs84);
}

TEST_P(Conformance, ThousandsOfObjectsAreExactInEveryShape) {
  for (const Space space : {Space::planar2, Space::planar3, Space::wgs84})
    for (const Shape shape : shapes_of(space)) {
      expect_exact(engine(), {space, shape, 1300, 10, true});
      expect_exact(engine(), {space, shape, 20'000, 64, false});
      expect_exact(engine(), {space, shape, 5'000, list_max, false});
      if (HasFailure()) return;
    }
}

TEST_P(Conformance, SearchesByTheHundredThousandAreExact) {
  struct Many {
    std::uint64_t searches;
    std::uint32_t k;
  };
  // Near some of these numbers of searches a GPU changes its block size. No number is a multiple of
  // 32, so the last warp is never full.
  for (const Many& many : {Many{59'999, 10}, Many{60'001, 16}, Many{200'001, 32}}) {
    SCOPED_TRACE(many.searches);
    Random random(many.searches);
    PointSource points(Space::planar2, Shape::uniform, random);
    Twin twin(engine(), {});
    twin.put_stream(stream("all", ReportOn::distance));
    for (std::uint64_t i = 0; i < 100; ++i) twin.update(fix(ObjectId{i}, 0, points.next()));
    for (std::uint64_t i = 0; i < many.searches; ++i)
      twin.put_query(0, query(i, many.k, fixed_at(points.next())));
    twin.tick(0);
    if (HasFailure()) return;
  }
}

TEST_P(Conformance, TheListForKIsAPrefixOfTheListForKPlusOne) {
  for (const Space space : {Space::planar2, Space::planar3, Space::wgs84})
    for (const Shape shape : shapes_of(space)) {
      TwinOptions options;
      options.space = space;
      Random random(1);
      PointSource points(space, shape, random);
      Twin twin(engine(), options);
      twin.put_stream(stream("all", ReportOn::distance));
      for (std::uint64_t i = 0; i < 1500; ++i) twin.update(fix(ObjectId{i}, 0, points.next()));
      const Anchor anchor = fixed_at(points.next());
      for (std::uint32_t k = 1; k <= list_max; k += k < 70 || k >= 1000 ? 1 : 31)
        twin.put_query(0, query(k, k, anchor));
      twin.tick(0);
      const List longest = twin.list(0, list_max);
      ASSERT_EQ(longest.size(), list_max);
      for (const QueryId id : {QueryId{1}, QueryId{64}, QueryId{65}, QueryId{1023}}) {
        const List list = twin.list(0, to_number(id));
        ASSERT_EQ(list.size(), to_number(id));
        EXPECT_TRUE(std::equal(list.begin(), list.end(), longest.begin()));
      }
    }
}

}  // namespace
}  // namespace starling::test
