// SPDX-License-Identifier: Apache-2.0
// Tests searches that are large enough for the filter. The filter uses shadows, which are
// low-precision copies of the rows. In some tests the shadows tell the rows apart, in other tests
// they cannot.
#include <cmath>
#include <string_view>

#include "starling/gpu/device/launch_trace.hpp"
#include "starling/gpu/vectors/scan/filter_launch.hpp"
#include "tests/gpu/vectors/vector_case.hpp"

namespace starling::gpu {
namespace {

float normal(test::Random& random) {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return static_cast<float>(sum - 6);
}

class VectorFilter : public CudaVectorCase {
 protected:
  /// Searches with all queries, and then with 1, 8, 13 and 32 of them.
  static void expect_exact_by_filter(const Case& c, std::uint32_t checked = 8) {
    if (has_group_products())
      expect_exact_by(c, checked, {FilterUse::where_faster}, "GroupProduct");
    expect_exact_by(c, checked, {FilterUse::where_faster, false}, "WarpProduct");
    for (const std::uint32_t count : {1u, 8u, 13u, 32u}) {
      if (HasFatalFailure()) return;
      const bool is_too_long = c.dimension == dimension_max && count > 8;
      if (!is_too_long) expect_exact_by_few(c, count);
    }
  }

  static void expect_exact_by_few(Case c, std::uint32_t count) {
    c.queries.resize(std::size_t{count} * c.dimension);
    expect_exact_by(c, 2, {FilterUse::always}, "few_filter_kernel");
  }

  static void expect_exact_by(const Case& c, std::uint32_t checked, FilterOptions use,
                              std::string_view kernel) {
    const LaunchTrace trace;
    expect_exact(c, ~std::uint64_t{0}, checked, use);
    EXPECT_TRUE(std::any_of(trace.kernels().begin(), trace.kernels().end(), [&](const auto& name) {
      return name.find(kernel) != std::string::npos;
    })) << "the direct scan answered";
  }

  static void expect_exact_for_both(Case c) {
    for (const Metric metric : {Metric::l2, Metric::inner_product}) {
      c.metric = metric;
      expect_exact_by_filter(c);
      if (HasFatalFailure()) return;
    }
  }
};

TEST_F(VectorFilter, EveryDimensionAndLength) {
  for (const std::uint64_t seed : test::seeds(1)) {
    test::Random random(seed);
    constexpr std::uint32_t query_counts[] = {33, 64, 127, 128, 129, 300};
    constexpr std::uint32_t row_counts[] = {2048, 2049, 5000, 9999};
    for (const std::uint32_t dimension :
         {1u, 2u, 3u, 17u, 31u, 32u, 33u, 65u, 128u, 256u, 257u, 300u, 784u}) {
      Case c;
      c.dimension = dimension;
      c.k = random.chance(0.5) ? 1 + static_cast<std::uint32_t>(random.below(20)) : 100;
      c.rows = uniform(
          random, std::size_t{dimension} * random.pick(std::span<const std::uint32_t>(row_counts)));
      c.queries = uniform(random, std::size_t{dimension} *
                                      random.pick(std::span<const std::uint32_t>(query_counts)));
      expect_exact_for_both(c);
      if (HasFatalFailure()) FAIL() << test::replay_hint(seed);
    }
    Case c;
    c.dimension = dimension_max;
    c.k = 33;
    c.rows = uniform(random, std::size_t{3000} * c.dimension);
    c.queries = uniform(random, std::size_t{140} * c.dimension);
    expect_exact_for_both(c);
  }
}

TEST_F(VectorFilter, FewQueriesOfManyRows) {
  test::Random random(8);
  for (const std::uint32_t k : {1u, 64u, 300u}) {
    Case c;
    c.dimension = 31;
    c.k = k;
    c.rows = uniform(random, std::size_t{250'000} * c.dimension);
    c.queries.assign(c.rows.begin() + 31 * 7777, c.rows.begin() + 31 * (7777 + 32));
    c.first_self = 7777;
    for (const Metric metric : {Metric::l2, Metric::inner_product})
      for (const std::uint32_t count : {1u, 8u, 13u, 32u}) {
        c.metric = metric;
        expect_exact_by_few(c, count);
        ASSERT_FALSE(HasFatalFailure()) << "k " << k << ", queries " << count;
      }
  }
}

TEST_F(VectorFilter, ACorpusThatIsSearchedOftenIsFilteredForFewQueriesToo) {
  test::Random random(9);
  Case c;
  c.dimension = 128;
  c.k = 10;
  c.rows = uniform(random, std::size_t{400'000} * c.dimension);
  c.queries = uniform(random, std::size_t{16} * c.dimension);
  const auto searcher = make_vector_searcher(VectorSearcherOptions());
  searcher->set_corpus(c.metric, c.rows_view());
  for (int number = 1; number <= 5; ++number) {
    const LaunchTrace trace;
    expect_lists(c, lists_of(*searcher, c), 4);
    const bool is_filtered = std::any_of(
        trace.kernels().begin(), trace.kernels().end(),
        [](const auto& name) { return name.find("few_filter_kernel") != std::string::npos; });
    EXPECT_EQ(is_filtered, number == 5) << "search " << number;
  }
}

TEST_F(VectorFilter, EveryK) {
  test::Random random(2);
  for (const std::uint32_t k : {1u, 7u, 16u, 100u, 128u, 257u, 512u, 2048u}) {
    Case c;
    c.dimension = 33;
    c.k = k;
    c.rows = uniform(random, std::size_t{40'000} * c.dimension);
    c.queries.assign(c.rows.begin() + 33 * 1000, c.rows.begin() + 33 * 1150);
    c.first_self = 1000;
    expect_exact_for_both(c);
    ASSERT_FALSE(HasFatalFailure()) << "k " << k;
  }
}

// In this test and all tests below it, shadows cannot tell many rows apart.
TEST_F(VectorFilter, MeansFarFromTheOrigin) {
  test::Random random(3);
  for (const float mean : {10.0f, 100.0f, 1000.0f, 100'000.0f}) {
    Case c;
    c.dimension = 65;
    c.k = 20;
    c.rows.resize(std::size_t{6000} * c.dimension);
    for (float& value : c.rows) value = mean + normal(random);
    c.queries.assign(c.rows.begin(), c.rows.begin() + 65 * 200);
    c.first_self = 0;
    expect_exact_for_both(c);
    ASSERT_FALSE(HasFatalFailure()) << "mean " << mean;
  }
}

TEST_F(VectorFilter, TightClustersFarFromEachOther) {
  test::Random random(4);
  for (const float spread : {10.0f, 100.0f, 1000.0f, 1e6f})
    for (const std::size_t clusters : {3u, 40u}) {
      Case c;
      c.dimension = 40;
      c.k = 50;
      std::vector<float> means(clusters * c.dimension);
      for (float& mean : means) mean = spread * normal(random);
      for (std::size_t row = 0; row < 12'000; ++row)
        for (std::size_t j = 0; j < c.dimension; ++j)
          c.rows.push_back(means[row * clusters / 12'000 * c.dimension + j] + normal(random));
      c.queries.assign(c.rows.begin() + 40 * 5900, c.rows.begin() + 40 * 6100);
      c.first_self = 5900;
      expect_exact_for_both(c);
      ASSERT_FALSE(HasFatalFailure()) << "spread " << spread << ", clusters " << clusters;
    }
}

TEST_F(VectorFilter, DuplicatesAndAllEqual) {
  test::Random random(5);
  for (const std::uint32_t k : {1u, 64u, 512u}) {
    Case c;
    c.dimension = 18;
    c.k = k;
    const std::vector<float> some = uniform(random, std::size_t{70} * c.dimension);
    for (std::size_t row = 0; row < 20'000; ++row) {
      const std::size_t from = random.below(70) * c.dimension;
      c.rows.insert(c.rows.end(), some.begin() + static_cast<std::ptrdiff_t>(from),
                    some.begin() + static_cast<std::ptrdiff_t>(from + c.dimension));
    }
    c.queries.assign(c.rows.begin(), c.rows.begin() + 18 * 130);
    c.first_self = 0;
    expect_exact_for_both(c);
    c.rows.assign(c.rows.size(), 3.75f);
    c.queries.assign(c.queries.size(), 3.75f);
    expect_exact_for_both(c);
    c.rows.assign(c.rows.size(), 0.0f);
    c.queries.assign(c.queries.size(), 0.0f);
    expect_exact_for_both(c);
    ASSERT_FALSE(HasFatalFailure()) << "k " << k;
  }
}

TEST_F(VectorFilter, AnyScaleAndAnySpreadOfNorms) {
  test::Random random(6);
  for (const float scale : {0x1p-149f, 0x1p-140f, 0x1p-75f, 0x1p-30f, 0x1p30f, component_max}) {
    Case c;
    c.dimension = 37;
    c.k = 20;
    c.rows = uniform(random, std::size_t{3000} * 37);
    c.queries = uniform(random, std::size_t{150} * 37);
    for (float& value : c.rows) value *= scale;
    for (float& value : c.queries) value *= scale;
    expect_exact_for_both(c);
    ASSERT_FALSE(HasFatalFailure()) << "scale " << scale;
  }
  for (const int exponents : {6, 20, 60}) {
    Case c;
    c.dimension = 50;
    c.k = 30;
    c.rows = uniform(random, std::size_t{8000} * 50);
    for (std::size_t row = 0; row < 8000; ++row) {
      const int exponent = -static_cast<int>(random.below(static_cast<std::uint64_t>(exponents)));
      for (std::size_t j = 0; j < 50; ++j)
        c.rows[row * 50 + j] = std::ldexp(c.rows[row * 50 + j], exponent);
    }
    c.queries.assign(c.rows.begin() + 50 * 100, c.rows.begin() + 50 * 400);
    c.first_self = 100;
    expect_exact_for_both(c);
    ASSERT_FALSE(HasFatalFailure()) << "exponents " << exponents;
  }
}

TEST_F(VectorFilter, QueriesFarOutsideTheCorpus) {
  test::Random random(7);
  for (const float scale : {100.0f, 1e6f, 1e15f}) {
    Case c;
    c.dimension = 24;
    c.k = 12;
    c.rows = uniform(random, std::size_t{5000} * 24);
    c.queries = uniform(random, std::size_t{260} * 24);
    // Moves the first 100 queries away. They are all in one tile.
    for (std::size_t i = 0; i < 24 * 100; ++i) c.queries[i] *= scale;
    expect_exact_for_both(c);
    ASSERT_FALSE(HasFatalFailure()) << "scale " << scale;
  }
}

TEST_F(VectorFilter, RowsMayComeFarthestFirst) {
  Case c;
  c.dimension = 4;
  c.k = 25;
  for (int row = 0; row < 50'000; ++row)
    c.rows.insert(c.rows.end(),
                  {static_cast<float>(50'000 - row), 1, 0, static_cast<float>(row % 7)});
  c.queries.assign(std::size_t{200} * 4, 0.5f);
  expect_exact_for_both(c);
}

}  // namespace
}  // namespace starling::gpu
