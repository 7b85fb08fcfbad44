// SPDX-License-Identifier: Apache-2.0
// Tests crowds: thousands of objects at one position, where only ids decide which object is nearer.
// There is one crowd alone, a crowd with other objects so near that an index puts them into the
// same cell, and two crowds side by side.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/conformance/conformance.hpp"
#include "tests/support/random.hpp"
#include "tests/support/words.hpp"

namespace starling::test {
namespace {

constexpr std::uint64_t crowd_size = 6'000;

// Returns every id of the crowd once, in random order.
std::vector<std::uint64_t> shuffled_ids(Random& random, std::uint64_t scale) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < crowd_size; ++i) ids.push_back(1 + i * scale);
  for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[random.below(i)]);
  return ids;
}

// Puts queries with many different k. A third of the queries follow an object of the crowd. The
// others are fixed at the crowd or near it.
void put_queries(Twin& twin, Random& random, std::uint64_t scale) {
  twin.put_stream(stream("all", ReportOn::distance));
  for (std::uint64_t i = 0; i < 120; ++i) {
    const std::uint32_t k = i == 0 ? 1024 : 1 + static_cast<std::uint32_t>(random.below(60));
    const auto x = static_cast<std::int32_t>(random.below(9)) - 4;
    const Anchor anchor =
        i % 3 == 0 ? follow(ObjectId{1 + random.below(crowd_size) * scale}) : fixed_at(x);
    QueryDefinition definition = query(i, k, anchor);
    if (i % 10 == 9) definition.filter.tags.required = 1;
    twin.put_query(0, definition);
  }
}

struct CrowdCase {
  std::int32_t second_at;  ///< the x of every third object of the crowd; the rest are at x = 0
  std::int32_t others_at;  ///< the objects outside the crowd are at x = others_at to others_at + 9
  std::uint64_t others;    ///< the number of objects outside the crowd
  std::uint64_t id_scale;  ///< the ids of the crowd are 1 + i * id_scale
};

void expect_crowd_exact(const EngineChoice& engine, const CrowdCase& crowd, std::uint64_t seed) {
  SCOPED_TRACE("case " + std::to_string(seed));
  Random random(seed);
  Twin twin(engine, {});
  put_queries(twin, random, crowd.id_scale);
  const std::vector<std::uint64_t> ids = shuffled_ids(random, crowd.id_scale);
  for (std::int64_t tick = 1; tick <= 3; ++tick) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (tick == 3 && random.chance(0.5)) continue;
      const std::int32_t x = i % 3 == 0 ? crowd.second_at : 0;
      twin.update(tagged(fix(ObjectId{ids[i]}, tick, x), random.chance(0.4) ? 1 : 0));
    }
    for (std::uint64_t i = 0; i < crowd.others; ++i)
      twin.update(fix(ObjectId{(1ull << 50) + i}, tick,
                      crowd.others_at + static_cast<std::int32_t>(random.below(10))));
    if (tick == 2)  // the smallest ids leave
      for (std::uint64_t i = 0; i < 50; ++i) twin.remove(ObjectId{1 + i * crowd.id_scale}, tick);
    twin.tick(tick);
  }
  twin.compare_answer(30, fixed_at(0), {});
}

TEST_P(Conformance, ACrowdAtOnePositionIsExactByIds) {
  constexpr std::uint64_t far_apart = 0x0003'0000'0000'0101;  // ids differ in low and high bytes
  std::uint64_t seed = 1;
  for (const std::uint64_t scale : {std::uint64_t{1}, far_apart})
    for (const CrowdCase& crowd :
         {CrowdCase{0, 0, 0, scale}, CrowdCase{0, -5, 500, scale}, CrowdCase{1, 0, 0, scale},
          CrowdCase{1, 100'000, 4'000, scale}, CrowdCase{3, -5, 30'000, scale}}) {
      expect_crowd_exact(engine(), crowd, seed++);
      if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace starling::test
