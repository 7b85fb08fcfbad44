// SPDX-License-Identifier: Apache-2.0
// Tests that the longest request with the rows that a client sends at once is within the server's
// limits.
#include "starling/protocol/client/rows_at_once.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "starling/protocol/wire/messages.hpp"
#include "starling/protocol/wire/request_codec.hpp"

namespace starling::protocol {
namespace {

std::size_t bytes_of(const RequestBody& body) {
  return encode_request({.request_id = 1, .session = 1, .sequence = 1}, body).bytes().size();
}

TEST(RowsAtOnce, AQuarterOfTheCreditIsOneUpdate) {
  EXPECT_EQ(updates_at_once({.credit_rows = 400}), 100u);
  EXPECT_EQ(updates_at_once({.rows_max = 99, .credit_rows = 400}), 99u);
  EXPECT_EQ(updates_at_once({}), 32'768u);
}

TEST(RowsAtOnce, TheLongestUpdateFitsAFrameAndAQuarterOfTheCredit) {
  constexpr std::size_t frame_bytes_max = 64 << 10;
  for (const std::uint32_t dimension : {1u, 3u, 100u}) {
    for (const std::uint64_t credit_bytes : {frame_bytes_max, 8 * frame_bytes_max}) {
      const std::size_t rows = updates_at_once({.space = Space::vector,
                                                .dimension = dimension,
                                                .frame_bytes_max = frame_bytes_max,
                                                .credit_bytes = credit_bytes});
      const std::vector<std::uint64_t> ids(rows, 1);
      const std::vector<std::int64_t> numbers(rows, 1);
      const std::vector<double> coordinates(rows * dimension, 1);
      const std::vector<double> values(rows, 1);
      const std::vector<std::uint32_t> tags(rows, 1);
      const std::size_t bytes = bytes_of(UpdateBatch{.ids = ids,
                                                     .times_us = numbers,
                                                     .coordinates = coordinates,
                                                     .tags = tags,
                                                     .dimension = dimension,
                                                     .labels = numbers,
                                                     .values = values});
      EXPECT_LE(bytes, frame_bytes_max) << dimension;
      EXPECT_LE(bytes, credit_bytes / 4) << dimension;
      EXPECT_GE(rows, credit_bytes == frame_bytes_max ? 13u : 60u) << "most of it is used";
    }
  }
}

TEST(RowsAtOnce, TheLongestNamesFitAFrame) {
  constexpr std::size_t frame_bytes_max = 64 << 10;
  const Limits limits{.frame_bytes_max = frame_bytes_max};
  const std::string longest(limits.text_bytes_max, 'a');
  const std::vector<std::uint64_t> ids(names_at_once(limits), 1);
  const PutNames names{.ids = ids, .texts = std::vector<std::string_view>(ids.size(), longest)};
  EXPECT_LE(bytes_of(names), frame_bytes_max);
  EXPECT_GE(bytes_of(names), frame_bytes_max / 4);
}

TEST(RowsAtOnce, TheLongestQueriesFitAFrame) {
  constexpr std::size_t frame_bytes_max = 64 << 10;
  for (const std::uint32_t dimension : {1u, 300u}) {
    const QuerySpec longest{.id = QueryId{1},
                            .k = 2,
                            .vector = std::vector<float>(dimension, 1),
                            .tags = {1, 2},
                            .distance_max_m = 3,
                            .age_max_us = 4,
                            .subject = {5, 8},
                            .lease_ms = 6,
                            .vote = true,
                            .regress = RegressionWeights::distance};
    const std::size_t rows = queries_at_once(
        {.space = Space::vector, .dimension = dimension, .frame_bytes_max = frame_bytes_max});
    const PutQueries queries{.stream = "riders", .queries = std::vector<QuerySpec>(rows, longest)};
    EXPECT_LE(bytes_of(queries), frame_bytes_max) << dimension;
    EXPECT_GE(bytes_of(queries), frame_bytes_max / 8) << dimension;
  }
}

TEST(RowsAtOnce, LimitsOfZeroLeaveOneRow) {
  const Limits none{.frame_bytes_max = 0,
                    .rows_max = 0,
                    .credit_rows = 0,
                    .credit_bytes = 0,
                    .text_bytes_max = 0};
  EXPECT_EQ(updates_at_once(none), 1u);
  EXPECT_EQ(names_at_once(none), 1u);
  EXPECT_EQ(queries_at_once(none), 1u);
  EXPECT_EQ(ids_at_once(none), 1u);
}

TEST(RowsAtOnce, OtherBatchesHaveRowsMax) {
  EXPECT_EQ(ids_at_once({.rows_max = 7}), 7u);
}

}  // namespace
}  // namespace starling::protocol
