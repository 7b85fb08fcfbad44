// SPDX-License-Identifier: Apache-2.0
// Calls the batch k-NN of the C interface with arguments that no program should pass. Each call is
// refused with a code and a sentence, writes nothing, and leaves the index as it was.
#include <algorithm>

#include "tests/c/calls.hpp"

namespace starling::c_test {
namespace {

constexpr std::uint32_t untouched = 77;

/// An index of three points on a line. TearDown() checks that the test has not changed the answer.
class HostileIndex : public testing::Test {
 protected:
  void SetUp() override {
    const auto options = index_options();
    EXPECT_FINE(starling_index_create(&options, points_, 3, 2, &index_));
  }
  void TearDown() override {
    EXPECT_FINE(search(1));
    EXPECT_EQ(rows_[0], 1U);
    EXPECT_EQ(distances_[0], 1);
    EXPECT_FINE(starling_index_destroy(index_));
    EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_index_destroy(index_));
  }

  starling_code search(std::uint32_t k) {
    return starling_index_search(index_, query_, 1, k, STARLING_NOT_A_ROW, rows_, distances_);
  }

  void expect_untouched() const {
    for (const std::uint32_t row : rows_) EXPECT_EQ(row, untouched);
  }

  starling_index* index_ = nullptr;
  const float points_[6] = {0, 0, 3, 0, 9, 0};
  const float query_[2] = {2, 0};
  std::uint32_t rows_[4] = {untouched, untouched, untouched, untouched};
  double distances_[4] = {};
};

TEST_F(HostileIndex, RefusesNullAndHandlesThatAreNotLive) {
  const auto options = index_options();
  starling_index* other = nullptr;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_index_options_init(nullptr, 100));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_index_create(nullptr, points_, 3, 2, &other));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_index_create(&options, nullptr, 3, 2, &other));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_index_create(&options, points_, 3, 2, nullptr));
  EXPECT_REFUSED(
      STARLING_INVALID_ARGUMENT,
      starling_index_search(index_, nullptr, 1, 1, STARLING_NOT_A_ROW, rows_, distances_));
  EXPECT_REFUSED(
      STARLING_INVALID_ARGUMENT,
      starling_index_search(index_, query_, 1, 1, STARLING_NOT_A_ROW, nullptr, distances_));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_knn(nullptr, points_, 3, query_, 1, 2, 1, rows_, distances_));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_knn(&options, nullptr, 3, query_, 1, 2, 1, rows_, distances_));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_knn(&options, points_, 3, nullptr, 1, 2, 1, rows_, distances_));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_knn(&options, points_, 3, query_, 1, 2, 1, nullptr, distances_));

  const auto engine_defaults = engine_options();
  starling_engine* engine = nullptr;
  EXPECT_FINE(starling_engine_create(&engine_defaults, &engine));
  EXPECT_FINE(starling_index_create(&options, points_, 3, 2, &other));
  EXPECT_FINE(starling_index_destroy(other));
  for (auto* const bad : {static_cast<starling_index*>(nullptr), not_a_handle<starling_index>(),
                          reinterpret_cast<starling_index*>(engine), other})
    EXPECT_REFUSED(STARLING_BAD_HANDLE,
                   starling_index_search(bad, query_, 1, 1, STARLING_NOT_A_ROW, rows_, distances_));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_index_rounding(other, distances_, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_index_create_f64(&options, nullptr, 3, 2, &other));
  EXPECT_REFUSED(
      STARLING_INVALID_ARGUMENT,
      starling_index_search_f64(index_, nullptr, 1, 1, STARLING_NOT_A_ROW, rows_, distances_));
  EXPECT_REFUSED(STARLING_BAD_HANDLE,
                 starling_engine_destroy(reinterpret_cast<starling_engine*>(index_)));
  EXPECT_FINE(starling_engine_destroy(engine));
  EXPECT_FINE(starling_index_destroy(nullptr));
  expect_untouched();
}

TEST_F(HostileIndex, RefusesOptionsThatMeanNothing) {
  using Options = starling_index_options;
  const auto expect_refused_options = [&](auto change) {
    auto options = index_options();
    change(options);
    starling_index* other = not_a_handle<starling_index>();
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_index_create(&options, points_, 3, 2, &other));
    EXPECT_EQ(other, nullptr);
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_knn(&options, points_, 3, query_, 1, 2, 1, rows_, distances_));
  };
  for (const std::int32_t value : {-1, 9, 1 << 30}) {
    expect_refused_options([&](Options& options) { options.metric = value; });
    expect_refused_options([&](Options& options) { options.backend = value; });
  }
  expect_refused_options([](Options& options) { options.threads = 1025; });
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, SIZE_MAX}) {
    Options options;
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_index_options_init(&options, size));
    expect_refused_options([&](Options& hostile) { hostile.size = size; });
  }
  expect_untouched();
}

TEST_F(HostileIndex, RefusesCountsAndDimensionsOutOfRange) {
  const auto options = index_options();
  starling_index* other = nullptr;
  for (const std::uint32_t dimension : {0U, 4097U, UINT32_MAX}) {
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_index_create(&options, points_, 3, dimension, &other));
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_knn(&options, points_, 3, query_, 1, dimension, 1, rows_, distances_));
  }
  for (const std::uint64_t count : {huge, huge / 2 + 2, UINT64_C(1) << 33}) {
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_index_create(&options, points_, count, 2, &other));
    EXPECT_REFUSED(
        STARLING_INVALID_ARGUMENT,
        starling_index_search(index_, query_, count, 1, STARLING_NOT_A_ROW, rows_, distances_));
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_knn(&options, points_, 3, query_, count, 2, 1, rows_, distances_));
  }
  for (const std::uint32_t k : {0U, 2049U, UINT32_MAX}) {
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, search(k));
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_knn(&options, points_, 3, query_, 1, 2, k, rows_, distances_));
  }
  for (const std::uint64_t first_row : {UINT64_C(3), UINT64_C(4), huge - 1})
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_index_search(index_, query_, 1, 1, first_row, rows_, distances_));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_index_search(index_, points_, 3, 1, 1, rows_, distances_));
  expect_untouched();
}

TEST_F(HostileIndex, RefusesComponentsThatAMetricDoesNotAllow) {
  for (const double value : {nan, infinite, -infinite, 1e30}) {
    const float bad[4] = {0, 0, 1, static_cast<float>(value)};
    const auto options = index_options();
    starling_index* other = nullptr;
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_index_create(&options, bad, 2, 2, &other));
    EXPECT_EQ(other, nullptr);
    // The first query is fine, and its list is not written either.
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_index_search(index_, bad, 2, 1, STARLING_NOT_A_ROW, rows_, distances_));
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_knn(&options, points_, 3, bad, 2, 2, 1, rows_, distances_));
    EXPECT_NE(std::string(last_error().sentence).find("row 2"), std::string::npos)
        << last_error().sentence;
    const double bad_f64[4] = {0, 0, 1, value};
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_index_create_f64(&options, bad_f64, 2, 2, &other));
    EXPECT_EQ(other, nullptr);
    EXPECT_REFUSED(
        STARLING_INVALID_ARGUMENT,
        starling_index_search_f64(index_, bad_f64, 2, 1, STARLING_NOT_A_ROW, rows_, distances_));
    EXPECT_NE(std::string(last_error().sentence).find("row 2"), std::string::npos)
        << last_error().sentence;
  }
  auto options = index_options();
  options.metric = STARLING_HELLINGER;
  const float negative[2] = {1, -1};
  starling_index* other = nullptr;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_index_create(&options, negative, 1, 2, &other));
  expect_untouched();
}

TEST_F(HostileIndex, FillsMissingEntries) {
  EXPECT_FINE(search(4));
  EXPECT_EQ(rows_[2], 2U);
  EXPECT_EQ(rows_[3], STARLING_NO_ROW);
  EXPECT_NE(distances_[3], distances_[3]) << "not a number";
  for (std::int32_t metric = STARLING_L2; metric <= STARLING_KULLBACK_LEIBLER; ++metric) {
    auto options = index_options();
    options.metric = metric;
    EXPECT_FINE(starling_knn(&options, nullptr, 0, query_, 1, 2, 2, rows_, nullptr));
    EXPECT_EQ(rows_[0], STARLING_NO_ROW) << "an index without rows";
    EXPECT_FINE(starling_knn(&options, points_, 3, nullptr, 0, 2, 2, nullptr, nullptr));
  }
}

TEST_F(HostileIndex, RefusesSearchesByRadiusThatMeanNothing) {
  starling_radius_result* result = nullptr;
  const auto expect_refused = [&](const float* queries, std::uint64_t count, double radius,
                                  std::uint64_t first_row, starling_list_order order) {
    result = not_a_handle<starling_radius_result>();
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_index_radius(index_, queries, count, radius,
                                                                    first_row, order, &result));
    EXPECT_EQ(result, nullptr);
  };
  const float bad[2] = {0, static_cast<float>(nan)};
  const double bad_f64[2] = {0, nan};
  for (const double radius : {nan, -1.0, -infinite, -5e-324})
    expect_refused(query_, 1, radius, STARLING_NOT_A_ROW, STARLING_BY_ROW);
  for (const starling_list_order order : {-1, 2, 1 << 30})
    expect_refused(query_, 1, 1, STARLING_NOT_A_ROW, order);
  for (const std::uint64_t count : {huge, huge / 2 + 2, UINT64_C(1) << 33})
    expect_refused(query_, count, 1, STARLING_NOT_A_ROW, STARLING_BY_ROW);
  for (const std::uint64_t first_row : {UINT64_C(3), UINT64_C(4), huge - 1})
    expect_refused(query_, 1, 1, first_row, STARLING_BY_ROW);
  expect_refused(nullptr, 1, 1, STARLING_NOT_A_ROW, STARLING_BY_ROW);
  expect_refused(bad, 1, 1, STARLING_NOT_A_ROW, STARLING_BY_ROW);
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_index_radius_f64(index_, bad_f64, 1, 1, STARLING_NOT_A_ROW,
                                           STARLING_BY_ROW, &result));
  EXPECT_REFUSED(
      STARLING_INVALID_ARGUMENT,
      starling_index_radius(index_, query_, 1, 1, STARLING_NOT_A_ROW, STARLING_BY_ROW, nullptr));
  EXPECT_REFUSED(STARLING_BAD_HANDLE,
                 starling_index_radius(not_a_handle<starling_index>(), query_, 1, 1,
                                       STARLING_NOT_A_ROW, STARLING_BY_ROW, &result));
  expect_untouched();
}

TEST_F(HostileIndex, GivesListsByRadiusThatLiveUntilTheyAreDestroyed) {
  starling_radius_result* result = nullptr;
  starling_radius_lists lists = {};
  lists.size = sizeof(lists);
  EXPECT_FINE(starling_index_radius(index_, query_, 1, 2, STARLING_NOT_A_ROW,
                                    STARLING_NEAREST_FIRST, &result));
  EXPECT_FINE(starling_radius_result_lists(result, &lists));
  ASSERT_EQ(lists.list_count, 1U);
  ASSERT_EQ(lists.entry_count, 2U);
  EXPECT_EQ(lists.offsets[1], 2U);
  EXPECT_EQ(lists.rows[0], 1U);
  EXPECT_EQ(lists.rows[1], 0U);
  EXPECT_EQ(lists.distances[1], 2);

  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_radius_result_lists(result, nullptr));
  starling_radius_lists small = {};
  small.size = 8;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_radius_result_lists(result, &small));
  EXPECT_REFUSED(
      STARLING_BAD_HANDLE,
      starling_radius_result_lists(reinterpret_cast<starling_radius_result*>(index_), &lists));
  EXPECT_FINE(starling_radius_result_destroy(result));
  EXPECT_FINE(starling_radius_result_destroy(nullptr));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_radius_result_lists(result, &lists));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_radius_result_destroy(result));

  EXPECT_FINE(starling_index_radius(index_, nullptr, 0, infinite, STARLING_NOT_A_ROW,
                                    STARLING_BY_ROW, &result));
  EXPECT_FINE(starling_radius_result_lists(result, &lists));
  EXPECT_EQ(lists.list_count, 0U);
  EXPECT_EQ(lists.offsets[0], 0U);
  EXPECT_FINE(starling_radius_result_destroy(result));
}

TEST_F(HostileIndex, CopiesFromNoMemoryThatIsNotOfADevice) {
  float to[4] = {};
  const float from[4] = {1, 2, 3, 4};
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_copy_from_device(nullptr, from, sizeof(from), 0));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_copy_from_device(to, nullptr, sizeof(to), 0));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_copy_from_device(to, from, UINT64_MAX, 0));
  for (const std::int32_t device : {0, 1, -1, INT32_MAX, INT32_MIN})
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{sizeof(from)}}) {
      const starling_code code = starling_copy_from_device(to, from, bytes, device);
      if (code == STARLING_OK)
        EXPECT_EQ(bytes, 0u) << "an array without bytes, on a machine with this GPU";
      else
        EXPECT_TRUE(code == STARLING_UNAVAILABLE || code == STARLING_INVALID_ARGUMENT) << code;
      EXPECT_EQ(to[0], 0.0f);
    }
}

/// The calls of a progress function so far, and whether it cancels.
struct Seen {
  std::uint64_t calls = 0;
  std::uint64_t total = 0;
  std::uint64_t done_most = 0;
  bool cancels = false;
};

std::int32_t follow(const starling_progress* progress) {
  auto& seen = *static_cast<Seen*>(progress->context);
  ++seen.calls;
  seen.total = progress->total;
  seen.done_most = std::max(seen.done_most, progress->done);
  return seen.cancels ? 7 : 0;
}

TEST(IndexProgress, IsFollowedAndCancelsAndLeavesTheIndex) {
  constexpr std::uint64_t count = 3000;
  constexpr std::uint32_t dimension = 200;
  std::vector<float> points(count * dimension);
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i] = static_cast<float>(i * 2654435761U % 1009);
  auto options = index_options();
  options.metric = STARLING_JENSEN_SHANNON;  // slow: the search takes about a second
  options.threads = 2;
  starling_index* index = nullptr;
  EXPECT_FINE(starling_index_create(&options, points.data(), count, dimension, &index));
  std::vector<std::uint32_t> rows(count);
  const auto search = [&] {
    return starling_index_search(index, points.data(), count, 1, 0, rows.data(), nullptr);
  };
  Seen seen;
  EXPECT_FINE(starling_set_progress(&follow, &seen));
  EXPECT_FINE(search());
  EXPECT_GT(seen.calls, 0U);
  EXPECT_EQ(seen.total, count);
  EXPECT_GT(seen.done_most, 0U);
  EXPECT_LE(seen.done_most, count);
  const std::vector<std::uint32_t> found = rows;
  seen.cancels = true;
  EXPECT_REFUSED(STARLING_CANCELLED, search());
  EXPECT_FINE(starling_set_progress(nullptr, nullptr));
  const std::uint64_t calls = seen.calls;
  EXPECT_FINE(search());
  EXPECT_EQ(rows, found);
  EXPECT_EQ(seen.calls, calls);
  EXPECT_FINE(starling_index_destroy(index));
}

/// Cancels in the nth call only. If the library loses this cancel, the search finishes.
struct CancelOnce {
  int nth;
  int calls = 0;
};

std::int32_t cancel_once(const starling_progress* progress) {
  auto& cancel = *static_cast<CancelOnce*>(progress->context);
  return ++cancel.calls == cancel.nth ? 1 : 0;
}

TEST(IndexProgress, OneCancelEndsEveryKindOfCall) {
  constexpr std::uint64_t count = 300'000;
  std::vector<float> points(count * 100);  // also read as more points of 3 components
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i] = static_cast<float>(i * 2654435761U % 1009);
  auto options = index_options();
  options.threads = 2;
  const auto expect_cancelled = [&](int nth, const auto& call) {
    CancelOnce cancel{nth};
    EXPECT_FINE(starling_set_progress(&cancel_once, &cancel));
    EXPECT_REFUSED(STARLING_CANCELLED, call());
    EXPECT_FINE(starling_set_progress(nullptr, nullptr));
    EXPECT_EQ(cancel.calls, nth);
  };
  for (const std::uint32_t dimension : {100U, 3U}) {
    SCOPED_TRACE(dimension);
    const std::uint64_t rows = dimension == 3 ? 3'000'000 : count;
    starling_index* index = nullptr;
    const auto create = [&] {
      return starling_index_create(&options, points.data(), rows, dimension, &index);
    };
    expect_cancelled(1, create);
    EXPECT_EQ(index, nullptr);
    EXPECT_FINE(create());
    const std::uint64_t many = dimension == 3 ? 1'000'000 : 200'000;  // more than three intervals
    std::vector<std::uint32_t> found(many * 5);
    starling_radius_result* result = nullptr;
    const auto search = [&](std::uint64_t queries) {
      return starling_index_search(index, points.data(), queries, 5, 0, found.data(), nullptr);
    };
    const auto radius = [&](starling_list_order order) {
      return starling_index_radius(index, points.data(), 300, 1e9, 0, order, &result);
    };
    for (const int nth : {1, 3}) {
      SCOPED_TRACE(nth);
      expect_cancelled(nth, [&] { return search(many); });
      for (const auto order : {STARLING_NEAREST_FIRST, STARLING_BY_ROW})
        expect_cancelled(nth, [&] { return radius(order); });
      EXPECT_EQ(result, nullptr);
    }
    EXPECT_FINE(search(2));
    EXPECT_EQ(std::count(found.begin(), found.begin() + 5, 0U), 0) << "a query found itself";
    EXPECT_FINE(starling_index_destroy(index));
  }
}

}  // namespace
}  // namespace starling::c_test
