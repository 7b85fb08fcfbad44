// SPDX-License-Identifier: Apache-2.0
// Tests filters that all, some, few or none of the objects pass, in every space and shape. The
// queries share one filter, share several filters, or have a filter each. Over time, objects begin
// to pass filters and cease to pass them.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "tests/conformance/conformance.hpp"
#include "tests/conformance/shapes.hpp"
#include "tests/support/words.hpp"

namespace starling::test {
namespace {

constexpr std::int64_t one_second_us = 1'000'000;

struct FilterCase {
  Space space = Space::planar2;
  Shape shape = Shape::uniform;
  std::uint64_t objects = 0;
  std::uint64_t queries = 0;
  std::uint64_t filters = 0;  ///< the number of different filters of the queries
  double share = 1;           ///< an object's probability of the required tag, and of age 0
};

// A Twin of objects with random tags and ages, and queries with filters. Each filter requires a
// tag, limits the age, or does both.
class FilteredCrowd {
 public:
  FilteredCrowd(const EngineChoice& engine, const FilterCase& crowd, Random& random)
      : crowd_(crowd),
        random_(random),
        points_(crowd.space, crowd.shape, random),
        twin_(engine, options_of(crowd)) {
    twin_.put_stream(stream("all", ReportOn::distance));
    for (std::uint64_t i = 0; i < crowd.queries; ++i) {
      QueryDefinition definition = query(i, random.chance(0.1) ? 40 : 8, anchor(i));
      definition.filter = filter(i % crowd.filters);
      if (random.chance(0.2)) definition.filter.key_max = RankKey{random.below(1'000'000)};
      twin_.put_query(0, definition);
    }
  }

  void tick(double moving_share) {
    now_us_ += one_second_us;
    for (std::uint64_t i = 0; i < crowd_.objects; ++i) {
      if (!random_.chance(moving_share)) continue;
      twin_.update(tagged(fix(ObjectId{i}, now_us_ - age_us(), points_.next()), tags()));
    }
    twin_.tick(now_us_);
  }

  void ask_each_filter() {
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(crowd_.filters, 20); ++i)
      twin_.compare_answer(8, fixed_at(points_.next()), filter(i));
  }

 private:
  static constexpr std::int64_t age_us_max = 1000;

  static TwinOptions options_of(const FilterCase& crowd) {
    TwinOptions options;
    options.space = crowd.space;
    return options;
  }

  Anchor anchor(std::uint64_t i) {
    return i % 7 == 0 && crowd_.objects > 0 ? follow(ObjectId{i % crowd_.objects})
                                            : fixed_at(points_.next());
  }

  // Returns an object's tags. Filters may require bit 0. Bits 1 to 3 are random, and no filter
  // tests them. All other bits are 0.
  std::uint32_t tags() {
    const auto noise = static_cast<std::uint32_t>(random_.below(8)) << 1;
    return (random_.chance(crowd_.share) ? 1u : 0u) | noise;
  }
  std::int64_t age_us() {
    return random_.chance(crowd_.share) ? 0
                                        : 1 + static_cast<std::int64_t>(random_.below(age_us_max));
  }

  // Returns filter `number`. Filters of one kind differ in the tags that they forbid, in the
  // greatest age, or in both. No object has a forbidden tag. The greatest ages differ by a few
  // microseconds, or are all the same if `share` is 1.
  Filter filter(std::uint64_t number) const {
    Filter filter;
    const std::uint64_t kind = number % 3;
    if (kind != 1) filter.tags.required = 1;
    if (kind != 1) filter.tags.forbidden = static_cast<std::uint32_t>(number / 3) << 8;
    if (kind != 0)
      filter.age_us_max = crowd_.share < 1 ? static_cast<std::int64_t>(number / 3) : age_us_max;
    return filter;
  }

  const FilterCase crowd_;
  Random& random_;
  PointSource points_;
  Twin twin_;
  std::int64_t now_us_ = 0;
};

void expect_filters_exact(const EngineChoice& engine, const FilterCase& crowd, std::uint64_t seed) {
  SCOPED_TRACE(std::string(to_string(crowd.space)) + ", " + std::string(to_string(crowd.shape)) +
               ", objects " + std::to_string(crowd.objects) + ", queries " +
               std::to_string(crowd.queries) + ", filters " + std::to_string(crowd.filters) +
               ", share " + std::to_string(crowd.share));
  Random random(seed);
  FilteredCrowd filtered(engine, crowd, random);
  for (const double moving_share : {1.0, 0.5, 0.0}) filtered.tick(moving_share);
  filtered.ask_each_filter();
}

TEST_P(Conformance, FiltersThatAllSomeFewOrNonePassAreExactInEveryShape) {
  std::uint64_t seed = 1;
  for (const Space space : {Space::planar2, Space::planar3, Space::wgs84})
    for (const Shape shape : shapes_of(space))
      for (const double share : {1.0, 0.1, 0.003, 0.0}) {
        expect_filters_exact(engine(), {space, shape, 3'000, 150, 5, share}, seed++);
        if (HasFailure()) return;
      }
}

TEST_P(Conformance, OneFilterManyFiltersAndOneForEachQueryAreExact) {
  std::uint64_t seed = 1000;
  for (const std::uint64_t filters : {1u, 16u, 400u})
    for (const double share : {1.0, 0.1, 0.01, 0.001, 0.0})
      for (const Shape shape : {Shape::uniform, Shape::clustered}) {
        expect_filters_exact(engine(), {Space::planar2, shape, 20'000, 400, filters, share},
                             seed++);
        if (HasFailure()) return;
      }
}

TEST_P(Conformance, AnAgeOfZeroAndTheLargestAgeAreExact) {
  Twin twin(engine(), {});
  twin.put_stream(stream("all", ReportOn::distance));
  for (std::uint64_t i = 0; i < 2'000; ++i)
    twin.update(fix(ObjectId{i}, i % 100 == 0 ? one_second_us : 0, static_cast<std::int32_t>(i)));
  const std::int64_t ages_us[] = {
      0, 1, one_second_us - 1, one_second_us, Filter::any_age - 1, Filter::any_age};
  for (std::uint64_t i = 0; i < 120; ++i) {
    QueryDefinition definition = query(i, 30, fixed_at(static_cast<std::int32_t>(i)));
    definition.filter.age_us_max = ages_us[i % std::size(ages_us)];
    twin.put_query(0, definition);
  }
  twin.tick(one_second_us);
  EXPECT_EQ(twin.list(0, 0).size(), 20u);
  EXPECT_EQ(twin.list(0, 3).size(), 30u);
}

TEST_P(Conformance, FiltersWhosePassingObjectsComeAndGoAreExact) {
  Twin twin(engine(), {});
  twin.put_stream(stream("all", ReportOn::order));
  Random random(5);
  PointSource points(Space::planar2, Shape::uniform, random);
  for (std::uint64_t i = 0; i < 5'000; ++i) twin.update(fix(ObjectId{i}, 0, points.next()));
  for (std::uint64_t i = 0; i < 300; ++i) {
    QueryDefinition definition = query(i, 5, fixed_at(points.next()));
    definition.filter.tags.required = 1u << (i % 3);
    twin.put_query(0, definition);
  }
  // The required tags belong to no object, then to one object in 500, to all objects, to one in
  // 500, and to none again.
  std::int64_t now_us = 0;
  for (const std::uint64_t one_in : {0u, 500u, 1u, 500u, 0u}) {
    ++now_us;
    for (std::uint64_t i = 0; i < 5'000; ++i)
      twin.update_tags({.id = ObjectId{i},
                        .time_us = now_us,
                        .set = one_in > 0 && i % one_in == 0 ? 7u : 0u,
                        .clear = one_in > 0 && i % one_in == 0 ? 0u : 7u});
    twin.tick(now_us);
  }
}

}  // namespace
}  // namespace starling::test
