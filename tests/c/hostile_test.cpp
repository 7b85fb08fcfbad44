// SPDX-License-Identifier: Apache-2.0
// Calls the engine of the C interface with arguments that no program should pass. Each call is
// refused with a code and a sentence, and the engine's answers stay as they were. Run it with the
// preset asan: it also reports reads and writes outside of the caller's memory.
#include <limits>

#include "tests/c/calls.hpp"

namespace starling::c_test {
namespace {

constexpr std::int64_t lowest_us = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest_us = std::numeric_limits<std::int64_t>::max();

/// An engine with three objects on a line, a stream, a query, and one finished tick. TearDown()
/// checks that the test has not changed the answer.
class HostileEngine : public testing::Test {
 protected:
  void SetUp() override {
    auto options = engine_options();
    EXPECT_FINE(starling_engine_create(&options, &engine_));
    const auto riders = stream("riders");
    EXPECT_FINE(starling_engine_put_stream(engine_, &riders));
    const auto nearest = query(7, 2);
    EXPECT_FINE(starling_engine_put_queries(engine_, "riders", &nearest, 1, nullptr, nullptr));
    auto rows = three_rows();
    EXPECT_FINE(starling_engine_update(engine_, &rows, highest_us, nullptr, nullptr));
    EXPECT_EQ(tick(1000), "riders 7: 11@10 12@20\n");
  }

  void TearDown() override {
    EXPECT_EQ(answer(), " 0: 11@10 12@20 13@30\n");
    const auto another = query(8, 1);
    EXPECT_FINE(starling_engine_put_queries(engine_, "riders", &another, 1, nullptr, nullptr));
    EXPECT_EQ(tick(2000), "riders 8: 11@10\n");
    EXPECT_FINE(starling_engine_remove_stream(engine_, "riders"));
    EXPECT_EQ(tick(2000), "riders 7 removed:\nriders 8 removed:\n") << "and no other query";
    EXPECT_FINE(starling_engine_destroy(engine_));
    EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_engine_destroy(engine_));
  }

  starling_rows three_rows() const {
    auto rows = sized<starling_rows>();
    rows.count = 3;
    rows.ids = ids_;
    rows.time_us = 500;
    rows.coordinates = coordinates_;
    rows.components = 2;
    return rows;
  }

  std::string tick(std::int64_t tau_us) {
    starling_result* result = nullptr;
    EXPECT_FINE(starling_engine_tick(engine_, tau_us, &result));
    const std::string text = text_of(result);
    EXPECT_FINE(starling_result_destroy(result));
    return text;
  }

  /// Returns the answer to a question about all three objects, as text.
  std::string answer() {
    const auto question = query(0, 3);
    starling_result* result = nullptr;
    EXPECT_FINE(starling_engine_neighbors(engine_, &question, 1, &result));
    const std::string text = text_of(result);
    EXPECT_FINE(starling_result_destroy(result));
    return text;
  }

  void expect_query_refused(const starling_query& hostile) {
    starling_result* result = nullptr;
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_engine_put_queries(engine_, "riders", &hostile, 1, nullptr, nullptr));
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_engine_neighbors(engine_, &hostile, 1, &result));
    EXPECT_EQ(result, nullptr);
  }

  /// Checks that a row with these values is rejected with this status.
  void expect_row_status(starling_row_status expected, std::int64_t time_us, double x_m) {
    const std::uint64_t id = 11;
    const double place[] = {x_m, 0};
    auto rows = sized<starling_rows>();
    rows.count = 1;
    rows.ids = &id;
    rows.time_us = time_us;
    rows.coordinates = place;
    rows.components = 2;
    starling_row_status status = STARLING_ROW_ACCEPTED;
    auto counts = sized<starling_counts>();
    EXPECT_FINE(starling_engine_update(engine_, &rows, 1'000'000, &status, &counts));
    EXPECT_EQ(status, expected) << time_us << " " << x_m << ": "
                                << starling_row_status_text(status);
    EXPECT_EQ(counts.accepted, 0U);
  }

  starling_engine* engine_ = nullptr;
  const std::uint64_t ids_[3] = {11, 12, 13};
  const double coordinates_[6] = {10, 0, 20, 0, 30, 0};
};

TEST_F(HostileEngine, RefusesNullStructsAndPlaces) {
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_engine_options_init(nullptr, 200));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_stream_init(nullptr, 200));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_query_init(nullptr, 200));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_last_error(nullptr));
  const auto options = engine_options();
  starling_engine* other = nullptr;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_engine_create(&options, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_engine_create(nullptr, &other));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_engine_update(engine_, nullptr, 0, nullptr, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_engine_put_stream(engine_, nullptr));
  const auto nameless = stream(nullptr);
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_engine_put_stream(engine_, &nameless));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_engine_remove_stream(engine_, nullptr));
  const auto nearest = query(1, 1);
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_engine_put_queries(engine_, nullptr, &nearest, 1, nullptr, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_engine_put_queries(engine_, "riders", nullptr, 1, nullptr, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_engine_remove_queries(engine_, "riders", nullptr, 1, nullptr, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_engine_tick(engine_, 5000, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_engine_finish_tick(engine_, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_engine_neighbors(engine_, &nearest, 1, nullptr));
  starling_result* result = nullptr;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_engine_neighbors(engine_, nullptr, 1, &result));
  EXPECT_EQ(result, nullptr);
}

TEST_F(HostileEngine, RefusesNullArrays) {
  const std::int64_t times_us[] = {600};
  const std::uint32_t bits[] = {1};
  const auto update_tags = [&](const auto* ids, const auto* times, const auto* set,
                               const auto* clear) {
    return starling_engine_update_tags(engine_, 1, ids, times, set, clear, nullptr, nullptr);
  };
  const std::uint32_t* const no_bits = nullptr;
  const std::uint64_t* const no_ids = nullptr;
  const std::int64_t* const no_times = nullptr;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, update_tags(no_ids, times_us, bits, bits));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, update_tags(ids_, no_times, bits, bits));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, update_tags(ids_, times_us, no_bits, bits));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, update_tags(ids_, times_us, bits, no_bits));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_engine_remove_objects(engine_, 1, nullptr, times_us, nullptr, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_engine_remove_objects(engine_, 1, ids_, nullptr, nullptr, nullptr));
  auto rows = three_rows();
  rows.ids = nullptr;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_engine_update(engine_, &rows, highest_us, nullptr, nullptr));
  rows = three_rows();
  rows.coordinates = nullptr;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_engine_update(engine_, &rows, highest_us, nullptr, nullptr));
}

/// Checks that every function of an engine refuses the handle.
void expect_bad_engine(starling_engine* engine) {
  auto rows = sized<starling_rows>();
  const auto riders = stream("riders");
  const auto nearest = query(1, 1);
  auto* result = not_a_handle<starling_result>();
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_engine_update(engine, &rows, 0, nullptr, nullptr));
  EXPECT_REFUSED(
      STARLING_BAD_HANDLE,
      starling_engine_update_tags(engine, 0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
  EXPECT_REFUSED(STARLING_BAD_HANDLE,
                 starling_engine_remove_objects(engine, 0, nullptr, nullptr, nullptr, nullptr));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_engine_put_stream(engine, &riders));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_engine_remove_stream(engine, "riders"));
  EXPECT_REFUSED(STARLING_BAD_HANDLE,
                 starling_engine_put_queries(engine, "riders", &nearest, 1, nullptr, nullptr));
  EXPECT_REFUSED(STARLING_BAD_HANDLE,
                 starling_engine_remove_queries(engine, "riders", nullptr, 0, nullptr, nullptr));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_engine_tick(engine, 5000, &result));
  EXPECT_EQ(result, nullptr) << "a failed call gives no handle";
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_engine_begin_tick(engine, 5000));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_engine_finish_tick(engine, &result));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_engine_neighbors(engine, &nearest, 1, &result));
  EXPECT_STREQ(starling_engine_name(engine), "");
}

TEST_F(HostileEngine, RefusesHandlesThatAreNotLiveEngines) {
  expect_bad_engine(nullptr);
  expect_bad_engine(not_a_handle<starling_engine>());
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_engine_destroy(not_a_handle<starling_engine>()));

  starling_result* result = nullptr;
  EXPECT_FINE(starling_engine_tick(engine_, 1500, &result));
  expect_bad_engine(reinterpret_cast<starling_engine*>(result));
  EXPECT_REFUSED(STARLING_BAD_HANDLE,
                 starling_engine_destroy(reinterpret_cast<starling_engine*>(result)));
  EXPECT_FINE(starling_result_destroy(result));

  const auto options = engine_options();
  starling_engine* other = nullptr;
  EXPECT_FINE(starling_engine_create(&options, &other));
  EXPECT_STREQ(starling_engine_name(other), "cpu");
  EXPECT_FINE(starling_engine_destroy(other));
  expect_bad_engine(other);
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_engine_destroy(other));
  EXPECT_FINE(starling_engine_destroy(nullptr));
}

TEST_F(HostileEngine, RefusesResultsThatAreNotLive) {
  auto info = sized<starling_tick_info>();
  auto lists = sized<starling_lists>();
  starling_result* result = nullptr;
  EXPECT_FINE(starling_engine_tick(engine_, 1500, &result));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_result_info(result, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_result_lists(result, 0, nullptr));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_result_lists(result, 1, &lists));
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_result_lists(result, huge, &lists));
  info.size = 8;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_result_info(result, &info));
  info.size = sizeof(info);
  lists.size = 0;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_result_lists(result, 0, &lists));
  lists.size = sizeof(lists);
  EXPECT_FINE(starling_result_lists(result, 0, &lists));
  EXPECT_FINE(starling_result_destroy(result));
  EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_result_destroy(result));
  for (auto* const bad : {result, static_cast<starling_result*>(nullptr),
                          reinterpret_cast<starling_result*>(engine_)}) {
    EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_result_info(bad, &info));
    EXPECT_REFUSED(STARLING_BAD_HANDLE, starling_result_lists(bad, 0, &lists));
  }
}

TEST_F(HostileEngine, RefusesSizesThatNoStructHas) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, std::size_t{5000}, SIZE_MAX}) {
    starling_engine_options options;
    starling_stream made;
    starling_query asked;
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_engine_options_init(&options, size));
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_stream_init(&made, size));
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_query_init(&asked, size));

    options = engine_options();
    options.size = size;
    starling_engine* other = nullptr;
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_engine_create(&options, &other));
    auto rows = three_rows();
    rows.size = size;
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_engine_update(engine_, &rows, highest_us, nullptr, nullptr));
    rows.size = sizeof(rows);
    auto counts = sized<starling_counts>();
    counts.size = size;
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_engine_update(engine_, &rows, highest_us, nullptr, &counts));
    made = stream("other");
    made.size = size;
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_engine_put_stream(engine_, &made));
    asked = query(9, 1);
    asked.size = size;
    expect_query_refused(asked);
    starling_error error{};
    error.size = size;
    EXPECT_EQ(starling_last_error(&error), STARLING_INVALID_ARGUMENT);
  }
}

TEST_F(HostileEngine, AcceptsAStructOfANewerHeaderIfItsNewMembersAreZero) {
  struct Newer {
    starling_stream known;
    std::uint64_t member;
  };
  Newer newer{};
  EXPECT_FINE(starling_stream_init(&newer.known, sizeof(newer)));
  EXPECT_EQ(newer.known.size, sizeof(newer));
  newer.known.name = "riders";
  EXPECT_FINE(starling_engine_put_stream(engine_, &newer.known));
  newer.member = 1;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_engine_put_stream(engine_, &newer.known));
}

TEST_F(HostileEngine, RefusesQueriesOfDifferentSizesInOneArray) {
  starling_query queries[] = {query(8, 1), query(9, 1)};
  queries[1].size += 8;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_engine_put_queries(engine_, "riders", queries, 2, nullptr, nullptr));
}

TEST_F(HostileEngine, RefusesCountsWhoseBytesOverflow) {
  // The count alone is wrong: no array can be that long.
  for (const std::uint64_t count : {huge, huge / 2 + 2, (UINT64_C(1) << 48) + 1}) {
    auto rows = three_rows();
    rows.count = count;
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_engine_update(engine_, &rows, highest_us, nullptr, nullptr));
    const std::int64_t times_us[] = {600};
    const std::uint32_t bits[] = {1};
    EXPECT_REFUSED(
        STARLING_INVALID_ARGUMENT,
        starling_engine_update_tags(engine_, count, ids_, times_us, bits, bits, nullptr, nullptr));
    EXPECT_REFUSED(
        STARLING_INVALID_ARGUMENT,
        starling_engine_remove_objects(engine_, count, ids_, times_us, nullptr, nullptr));
    const auto nearest = query(9, 1);
    EXPECT_REFUSED(
        STARLING_INVALID_ARGUMENT,
        starling_engine_put_queries(engine_, "riders", &nearest, count, nullptr, nullptr));
    EXPECT_REFUSED(
        STARLING_INVALID_ARGUMENT,
        starling_engine_remove_queries(engine_, "riders", ids_, count, nullptr, nullptr));
    starling_result* result = nullptr;
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_engine_neighbors(engine_, &nearest, count, &result));
  }
}

TEST_F(HostileEngine, TakesEmptyArrays) {
  auto rows = sized<starling_rows>();
  rows.components = 2;
  auto counts = sized<starling_counts>();
  counts.accepted = 99;
  EXPECT_FINE(starling_engine_update(engine_, &rows, highest_us, nullptr, &counts));
  EXPECT_EQ(counts.accepted, 0U);
  EXPECT_FINE(starling_engine_update_tags(engine_, 0, nullptr, nullptr, nullptr, nullptr, nullptr,
                                          &counts));
  EXPECT_FINE(starling_engine_remove_objects(engine_, 0, nullptr, nullptr, nullptr, &counts));
  EXPECT_FINE(starling_engine_put_queries(engine_, "riders", nullptr, 0, nullptr, &counts));
  EXPECT_FINE(starling_engine_remove_queries(engine_, "riders", nullptr, 0, nullptr, &counts));
  starling_result* result = nullptr;
  EXPECT_FINE(starling_engine_neighbors(engine_, nullptr, 0, &result));
  EXPECT_EQ(text_of(result), "");
  EXPECT_FINE(starling_result_destroy(result));
}

TEST_F(HostileEngine, RefusesRowsOfAnotherSpace) {
  for (const std::uint32_t components : {0U, 1U, 3U, 4096U, UINT32_MAX}) {
    auto rows = three_rows();
    rows.components = components;
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                   starling_engine_update(engine_, &rows, highest_us, nullptr, nullptr));
  }
  const float coordinates_f32[6] = {};
  auto rows = three_rows();
  rows.coordinates_f32 = coordinates_f32;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_engine_update(engine_, &rows, highest_us, nullptr, nullptr));
  const std::int64_t labels[3] = {};
  rows = three_rows();
  rows.labels = labels;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_engine_update(engine_, &rows, highest_us, nullptr, nullptr));
  rows = three_rows();
  rows.values = coordinates_;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_engine_update(engine_, &rows, highest_us, nullptr, nullptr));
}

TEST_F(HostileEngine, RejectsRowsOneByOne) {
  expect_row_status(STARLING_ROW_POSITION_NOT_FINITE, 600, nan);
  expect_row_status(STARLING_ROW_POSITION_NOT_FINITE, 600, infinite);
  expect_row_status(STARLING_ROW_POSITION_OUT_OF_RANGE, 600, 1e300);
  expect_row_status(STARLING_ROW_TIME_OUT_OF_RANGE, lowest_us, 1);
  expect_row_status(STARLING_ROW_LATE, -600, 1);
  expect_row_status(STARLING_ROW_FUTURE, 1'000'001, 1);
  const std::uint64_t unknown[] = {99};
  const std::int64_t times_us[] = {600};
  const std::uint32_t bits[] = {1};
  starling_row_status status = STARLING_ROW_ACCEPTED;
  EXPECT_FINE(
      starling_engine_update_tags(engine_, 1, unknown, times_us, bits, bits, &status, nullptr));
  EXPECT_EQ(status, STARLING_ROW_UNKNOWN_OBJECT);
  EXPECT_FINE(starling_engine_remove_queries(engine_, "riders", unknown, 1, &status, nullptr));
  EXPECT_EQ(status, STARLING_ROW_UNKNOWN_QUERY);
}

TEST_F(HostileEngine, RefusesQueriesThatMeanNothing) {
  auto hostile = query(9, 1);
  for (const std::int32_t value : {-1, 3, 1 << 30}) {
    hostile = query(9, 1);
    hostile.anchor = value;
    expect_query_refused(hostile);
    hostile = query(9, 1);
    hostile.regress = value;
    expect_query_refused(hostile);
  }
  hostile = query(9, 1);
  hostile.vote = 1;
  expect_query_refused(hostile);
  hostile = query(9, 1);
  hostile.lease_us = -1;
  expect_query_refused(hostile);

  const auto expect_engine_refuses = [&](const starling_query& asked) {
    starling_result* result = nullptr;
    EXPECT_REFUSED(STARLING_REFUSED,
                   starling_engine_put_queries(engine_, "riders", &asked, 1, nullptr, nullptr));
    EXPECT_REFUSED(STARLING_REFUSED, starling_engine_neighbors(engine_, &asked, 1, &result));
  };
  for (const std::uint32_t k : {0U, 1025U, UINT32_MAX}) expect_engine_refuses(query(9, k));
  EXPECT_STREQ(last_error().name, "k_out_of_range");
  for (const double distance : {nan, -1.0, -infinite}) {
    hostile = query(9, 1);
    hostile.distance_max = distance;
    expect_engine_refuses(hostile);
  }
  hostile = query(9, 1);
  hostile.age_max_us = -1;
  expect_engine_refuses(hostile);
}

TEST_F(HostileEngine, RefusesAQuestionThatHasNoPlaceOrManyLists) {
  starling_result* result = nullptr;
  auto hostile = query(9, 1);
  hostile.position[1] = nan;
  EXPECT_REFUSED(STARLING_REFUSED, starling_engine_neighbors(engine_, &hostile, 1, &result));
  starling_row_status status = STARLING_ROW_ACCEPTED;
  EXPECT_FINE(starling_engine_put_queries(engine_, "riders", &hostile, 1, &status, nullptr));
  EXPECT_EQ(status, STARLING_ROW_POSITION_NOT_FINITE);
  hostile = query(9, 1);
  hostile.anchor = STARLING_EVERY_OBJECT;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT,
                 starling_engine_neighbors(engine_, &hostile, 1, &result));
}

TEST_F(HostileEngine, AnswersWithNothingAroundAnUnknownObject) {
  auto hostile = query(9, 1);
  hostile.anchor = STARLING_FOLLOW;
  hostile.object = huge;
  starling_result* result = nullptr;
  EXPECT_FINE(starling_engine_neighbors(engine_, &hostile, 1, &result));
  EXPECT_EQ(text_of(result), " 0:\n");
  EXPECT_FINE(starling_result_destroy(result));
}

TEST_F(HostileEngine, RefusesStreamsThatMeanNothing) {
  const std::string too_long(256, 'x');
  for (const char* const name : {"", "\xff", too_long.c_str()}) {
    const auto made = stream(name);
    EXPECT_REFUSED(STARLING_REFUSED, starling_engine_put_stream(engine_, &made));
    EXPECT_REFUSED(STARLING_REFUSED, starling_engine_remove_stream(engine_, name));
  }
  EXPECT_REFUSED(STARLING_REFUSED, starling_engine_remove_stream(engine_, "unknown"));
  EXPECT_STREQ(last_error().name, "unknown_stream");
  auto made = stream("riders");
  made.on = 3;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_engine_put_stream(engine_, &made));
  made.on = -1;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_engine_put_stream(engine_, &made));
  made = stream("riders");
  made.with = 8;
  EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_engine_put_stream(engine_, &made));
}

TEST_F(HostileEngine, RefusesTicksOutOfOrder) {
  starling_result* result = nullptr;
  EXPECT_REFUSED(STARLING_REFUSED, starling_engine_finish_tick(engine_, &result));
  EXPECT_REFUSED(STARLING_REFUSED, starling_engine_tick(engine_, 999, &result));
  EXPECT_STREQ(last_error().name, "tau_too_early");
  for (const std::int64_t tau_us : {lowest_us, highest_us, (INT64_C(1) << 61) + 1})
    EXPECT_REFUSED(STARLING_REFUSED, starling_engine_begin_tick(engine_, tau_us));
  EXPECT_FINE(starling_engine_begin_tick(engine_, 1500));
  EXPECT_REFUSED(STARLING_REFUSED, starling_engine_begin_tick(engine_, 1600));
  EXPECT_REFUSED(STARLING_REFUSED, starling_engine_tick(engine_, 1600, &result));
  EXPECT_FINE(starling_engine_finish_tick(engine_, &result));
  EXPECT_EQ(text_of(result), "") << "nothing has changed";
  EXPECT_FINE(starling_result_destroy(result));
  EXPECT_REFUSED(STARLING_REFUSED, starling_engine_finish_tick(engine_, &result));
  EXPECT_EQ(result, nullptr);
}

}  // namespace
}  // namespace starling::c_test
