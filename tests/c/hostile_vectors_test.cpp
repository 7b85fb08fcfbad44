// SPDX-License-Identifier: Apache-2.0
// Calls an engine of vectors of the C interface with rows and queries that the space or its metric
// does not allow. The engine's answer stays as it was.
#include "tests/c/calls.hpp"

namespace starling::c_test {
namespace {

/// An engine with two vectors that no metric refuses, and one finished tick.
class HostileVectors : public testing::Test {
 protected:
  void SetUp() override {
    auto options = engine_options();
    options.space = STARLING_VECTOR;
    options.dimension = 2;
    options.metric = STARLING_HELLINGER;
    EXPECT_FINE(starling_engine_create(&options, &engine_));
    const auto genres = stream("genres");
    EXPECT_FINE(starling_engine_put_stream(engine_, &genres));
    EXPECT_EQ(status_of(11, {1, 0}), STARLING_ROW_ACCEPTED);
    EXPECT_EQ(status_of(12, {0, 1}), STARLING_ROW_ACCEPTED);
    starling_result* result = nullptr;
    EXPECT_FINE(starling_engine_tick(engine_, 1000, &result));
    EXPECT_FINE(starling_result_destroy(result));
  }
  void TearDown() override {
    starling_result* result = nullptr;
    EXPECT_FINE(starling_engine_tick(engine_, 2000, &result));
    EXPECT_EQ(text_of(result), "") << "no query came to be";
    EXPECT_FINE(starling_result_destroy(result));
    const auto question = near(place_);
    EXPECT_FINE(starling_engine_neighbors(engine_, &question, 1, &result));
    EXPECT_EQ(text_of(result), " 0: 11@0 12@1\n");
    EXPECT_FINE(starling_result_destroy(result));
    EXPECT_FINE(starling_engine_destroy(engine_));
  }

  static starling_query near(const float* vector) {
    auto made = query(7, 2);
    made.vector = vector;
    return made;
  }

  starling_row_status status_of(std::uint64_t id, const std::vector<float>& vector,
                                const double* value = nullptr) {
    auto rows = sized<starling_rows>();
    rows.count = 1;
    rows.ids = &id;
    rows.time_us = 500;
    rows.coordinates_f32 = vector.data();
    rows.components = static_cast<std::uint32_t>(vector.size());
    rows.values = value;
    starling_row_status status = STARLING_ROW_ACCEPTED;
    EXPECT_FINE(starling_engine_update(engine_, &rows, INT64_MAX, &status, nullptr));
    return status;
  }

  starling_row_status status_of(const starling_query& asked) {
    starling_row_status status = STARLING_ROW_ACCEPTED;
    EXPECT_FINE(starling_engine_put_queries(engine_, "genres", &asked, 1, &status, nullptr));
    return status;
  }

  starling_engine* engine_ = nullptr;
  const float place_[2] = {1, 0};
};

TEST_F(HostileVectors, RejectsRowsOneByOne) {
  const auto as_float = [](double value) { return static_cast<float>(value); };
  EXPECT_EQ(status_of(11, {as_float(nan), 0}), STARLING_ROW_COMPONENT_NOT_FINITE);
  EXPECT_EQ(status_of(11, {0, as_float(infinite)}), STARLING_ROW_COMPONENT_NOT_FINITE);
  EXPECT_EQ(status_of(11, {1e30F, 0}), STARLING_ROW_COMPONENT_TOO_LARGE);
  EXPECT_EQ(status_of(11, {-1, 0}), STARLING_ROW_COMPONENT_NEGATIVE);
  EXPECT_EQ(status_of(11, {0, 1}, &infinite), STARLING_ROW_VALUE_INFINITE);
}

TEST_F(HostileVectors, RejectsQueriesWhoseVectorTheMetricDoesNotAllow) {
  const float bad[][2] = {{static_cast<float>(nan), 0}, {1e30F, 0}, {-1, 0}};
  EXPECT_EQ(status_of(near(bad[0])), STARLING_ROW_COMPONENT_NOT_FINITE);
  EXPECT_EQ(status_of(near(bad[1])), STARLING_ROW_COMPONENT_TOO_LARGE);
  EXPECT_EQ(status_of(near(bad[2])), STARLING_ROW_COMPONENT_NEGATIVE);
  for (const auto& vector : bad) {
    const auto question = near(vector);
    starling_result* result = nullptr;
    EXPECT_REFUSED(STARLING_REFUSED, starling_engine_neighbors(engine_, &question, 1, &result));
  }
}

TEST_F(HostileVectors, RefusesQueriesWithoutAVectorAndRowsOfAnotherDimension) {
  const auto placeless = near(nullptr);
  starling_result* result = nullptr;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_engine_put_queries(engine_, "genres", &placeless, 1, nullptr, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_engine_neighbors(engine_, &placeless, 1, &result));
  const std::uint64_t id = 11;
  auto rows = sized<starling_rows>();
  rows.count = 1;
  rows.ids = &id;
  rows.coordinates_f32 = place_;
  for (const std::uint32_t components : {0U, 1U, 3U, 4097U, UINT32_MAX}) {
    rows.components = components;
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_engine_update(engine_, &rows, INT64_MAX, nullptr, nullptr));
  }
}

}  // namespace
}  // namespace starling::c_test
