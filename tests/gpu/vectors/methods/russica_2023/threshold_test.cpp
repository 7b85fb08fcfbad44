// SPDX-License-Identifier: Apache-2.0
// Tests what the method "threshold" adds to its paper: the sample that gives a query's cutoff, and
// queries whose sample misses the nearest rows. More keys of these queries pass the cutoff than the
// buffer holds.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "starling/gpu/vectors/methods/russica_2023/threshold_sample.hpp"
#include "tests/gpu/vectors/vector_case.hpp"

namespace starling::gpu {
namespace {

constexpr std::uint32_t column_counts[] = {1,   2,   3,    4,    5,      31,     64,       127,
                                           128, 129, 1000, 1024, 16'384, 70'001, 1'000'000};
constexpr std::uint32_t ks[] = {1, 2, 16, 100, 512, vector_k_max};

/// Returns [column]: whether the sample has the column.
std::vector<bool> sampled_columns(std::uint32_t columns, std::uint32_t k) {
  const RowSample sample = sample_of(columns, k);
  std::vector<bool> sampled(columns, false);
  for (std::uint32_t i = 0; i < sample.strata; ++i)
    for (std::uint32_t j = 0; j < ThresholdTuning::quad; ++j) {
      const std::uint32_t column = sample.quad_of(i) * ThresholdTuning::quad + j;
      if (column < columns) sampled[column] = true;
    }
  return sampled;
}

TEST(ThresholdSample, HasOneQuadOfEachStratum) {
  for (const std::uint32_t columns : column_counts)
    for (const std::uint32_t k : ks) {
      const RowSample sample = sample_of(columns, k);
      ASSERT_EQ(sample.quads, (columns + 3) / 4);
      ASSERT_LT((sample.strata - 1) * sample.stratum, sample.quads);
      ASSERT_GE(std::uint64_t{sample.strata} * sample.stratum, sample.quads);
      for (std::uint32_t i = 0; i < sample.strata; ++i) {
        ASSERT_EQ(sample.quad_of(i) / sample.stratum, i) << "columns " << columns << ", k " << k;
        ASSERT_LT(sample.quad_of(i), sample.quads) << "columns " << columns << ", k " << k;
      }
    }
}

TEST(ThresholdSample, HasFourTimesKColumnsOrTheWholeRow) {
  for (const std::uint32_t columns : column_counts)
    for (const std::uint32_t k : ks) {
      const auto sampled = sampled_columns(columns, k);
      const auto count = static_cast<std::uint32_t>(std::ranges::count(sampled, true));
      EXPECT_GE(count, std::min(columns, 4 * k) - (columns > 4 * k ? 3 : 0))
          << "columns " << columns << ", k " << k;
    }
}

TEST(ThresholdSample, RoomDoesNotFallWithMoreColumns) {
  for (const std::uint32_t k : ks) {
    std::uint32_t before = kept_room(0, k);
    for (std::uint32_t columns = 1; columns < 300'000; columns += 1 + columns / 97) {
      const std::uint32_t room = kept_room(columns, k);
      ASSERT_GE(room, before) << "columns " << columns << ", k " << k;
      ASSERT_GE(room, std::min(columns, 4 * k)) << "columns " << columns << ", k " << k;
      before = room;
    }
  }
}

class CudaThreshold : public testing::Test {
 protected:
  void SetUp() override {
    std::string why_none;
    if (find_devices(why_none).empty()) GTEST_SKIP() << why_none;
  }

  static void expect_exact(const Case& c) {
    expect_lists(c, lists_of(make_threshold, c, std::uint64_t{4} << 20), 4);
  }

  /// Returns a case whose rows lie at 100 if the sample has them, and at 0 to 9 otherwise. The
  /// queries lie at 3. So the cutoff is the score of a row at 100, and all near rows pass.
  static Case missed_by_the_sample(std::uint32_t rows, std::uint32_t k) {
    test::Random random(rows + k);
    Case c;
    c.k = k;
    const auto sampled = sampled_columns(rows, k);
    for (const bool is_sampled : sampled)
      c.rows.push_back(is_sampled ? 100.0f : static_cast<float>(random.below(10)));
    c.queries.assign(3, 3.0f);
    EXPECT_GT(std::ranges::count(sampled, false), kept_room(rows, k));
    return c;
  }
};

TEST_F(CudaThreshold, MoreKeysMayPassThanThereIsRoomFor) {
  expect_exact(missed_by_the_sample(9'000, 1));
  expect_exact(missed_by_the_sample(9'000, 10));
  expect_exact(missed_by_the_sample(70'000, 1'024));
  expect_exact(missed_by_the_sample(200'000, vector_k_max));
}

TEST_F(CudaThreshold, FarthestFirstTheRoomIsTooSmall) {
  // The k least keys change in every chunk of the row.
  Case c = missed_by_the_sample(200'000, 700);
  for (std::uint32_t row = 0; row < c.rows.size(); ++row)
    if (c.rows[row] < 100) c.rows[row] = 3 + static_cast<float>(c.rows.size() - row) * 1e-5f;
  expect_exact(c);
}

TEST_F(CudaThreshold, AQueryMayBeARowThatTheSampleHas) {
  test::Random random(12);
  Case c;
  c.k = 5;
  c.first_row = 1'000'000;
  c.rows = uniform(random, 20'000);
  c.queries.assign(c.rows.begin() + 6'000, c.rows.begin() + 6'040);
  c.first_self = 1'006'000;
  expect_lists(c, lists_of(make_threshold, c, std::uint64_t{4} << 20), 40);
}

}  // namespace
}  // namespace starling::gpu
