// SPDX-License-Identifier: Apache-2.0
// Calls the C interface while memory runs out. Each call returns a code and a sentence, the program
// goes on, and what was finished before stays.
#include "tests/c/calls.hpp"
#include "tests/support/failing_new.hpp"

namespace starling::c_test {
namespace {

using test::FailingNew;

// Allocations of at least this size fail. The test's own tables are smaller.
constexpr std::size_t large_bytes = std::size_t{1} << 20;
constexpr std::uint64_t row_count = 100'000;

class OutOfMemory : public testing::Test {
 protected:
  void SetUp() override {
    for (std::uint64_t i = 0; i < row_count; ++i) {
      ids_.push_back(i);
      coordinates_.push_back(static_cast<double>(i));
      coordinates_.push_back(0);
    }
    const auto options = engine_options();
    EXPECT_FINE(starling_engine_create(&options, &engine_));
    EXPECT_FINE(update(3));
    starling_result* result = nullptr;
    EXPECT_FINE(starling_engine_tick(engine_, 1000, &result));
    EXPECT_FINE(starling_result_destroy(result));
  }
  void TearDown() override {
    const auto question = query(0, 3);
    starling_result* result = nullptr;
    EXPECT_FINE(starling_engine_neighbors(engine_, &question, 1, &result));
    EXPECT_EQ(text_of(result), " 0: 0@0 1@1 2@2\n");
    EXPECT_FINE(starling_result_destroy(result));
    EXPECT_FINE(starling_engine_destroy(engine_));
  }

  starling_code update(std::uint64_t count) {
    auto rows = sized<starling_rows>();
    rows.count = count;
    rows.ids = ids_.data();
    rows.time_us = 500;
    rows.coordinates = coordinates_.data();
    rows.components = 2;
    return starling_engine_update(engine_, &rows, INT64_MAX, nullptr, nullptr);
  }

  starling_engine* engine_ = nullptr;
  std::vector<std::uint64_t> ids_;
  std::vector<double> coordinates_;
};

TEST_F(OutOfMemory, AnUpdateIsRefused) {
  starling_code code = STARLING_OK;
  {
    const FailingNew failing(large_bytes);
    code = update(row_count);
  }
  EXPECT_REFUSED(STARLING_OUT_OF_MEMORY, code);
  EXPECT_FINE(update(row_count));
}

TEST_F(OutOfMemory, RemovalsAndQueriesAreRefused) {
  const std::vector<std::int64_t> times_us(row_count, 100);
  const std::vector<starling_query> questions(row_count, query(0, 3));
  const auto riders = stream("riders");
  EXPECT_FINE(starling_engine_put_stream(engine_, &riders));
  starling_result* result = nullptr;
  starling_code removed = STARLING_OK;
  starling_code asked = STARLING_OK;
  starling_code put = STARLING_OK;
  {
    const FailingNew failing(large_bytes);
    removed = starling_engine_remove_objects(engine_, row_count, ids_.data(), times_us.data(),
                                             nullptr, nullptr);
    asked = starling_engine_neighbors(engine_, questions.data(), row_count, &result);
    put = starling_engine_put_queries(engine_, "riders", questions.data(), row_count, nullptr,
                                      nullptr);
  }
  EXPECT_REFUSED(STARLING_OUT_OF_MEMORY, removed);
  EXPECT_EQ(asked, STARLING_OUT_OF_MEMORY);
  EXPECT_EQ(put, STARLING_OUT_OF_MEMORY);
  EXPECT_EQ(result, nullptr);
}

TEST_F(OutOfMemory, AnIndexIsRefused) {
  const auto options = index_options();
  const std::vector<float> points(row_count * 4, 1);
  starling_index* index = nullptr;
  starling_code code = STARLING_OK;
  {
    const FailingNew failing(large_bytes);
    code = starling_index_create(&options, points.data(), row_count, 4, &index);
  }
  EXPECT_REFUSED(STARLING_OUT_OF_MEMORY, code);
  EXPECT_EQ(index, nullptr);

  EXPECT_FINE(starling_index_create(&options, points.data(), row_count, 4, &index));
  std::vector<std::uint32_t> rows(1000 * 200);
  {
    const FailingNew failing(large_bytes);
    code = starling_index_search(index, points.data(), 1000, 200, STARLING_NOT_A_ROW, rows.data(),
                                 nullptr);
  }
  EXPECT_REFUSED(STARLING_OUT_OF_MEMORY, code);
  EXPECT_FINE(starling_index_search(index, points.data(), 1000, 200, STARLING_NOT_A_ROW,
                                    rows.data(), nullptr));
  EXPECT_FINE(starling_index_destroy(index));
}

TEST_F(OutOfMemory, ACallWithoutAnyMemoryHasACode) {
  starling_engine* other = nullptr;
  starling_index* index = nullptr;
  const auto defaults = engine_options();
  const auto index_defaults = index_options();
  const float point[1] = {1};
  const auto question = query(0, 3);
  const auto riders = stream("riders");
  starling_result* result = nullptr;
  starling_code codes[5];
  starling_error error = sized<starling_error>();
  {
    const FailingNew failing(1);
    codes[0] = starling_engine_create(&defaults, &other);
    codes[1] = starling_index_create(&index_defaults, point, 1, 1, &index);
    codes[2] = starling_engine_neighbors(engine_, &question, 1, &result);
    codes[3] = update(3);
    codes[4] = starling_engine_remove_stream(engine_, riders.name);
    starling_last_error(&error);
  }
  for (int i = 0; i < 4; ++i) EXPECT_EQ(codes[i], STARLING_OUT_OF_MEMORY) << i;
  EXPECT_NE(codes[4], STARLING_OK);
  EXPECT_EQ(error.code, codes[4]);
  EXPECT_NE(error.sentence, nullptr);
  EXPECT_EQ(other, nullptr);
  EXPECT_EQ(index, nullptr);
  EXPECT_EQ(result, nullptr);
}

}  // namespace
}  // namespace starling::c_test
