// SPDX-License-Identifier: Apache-2.0
// Tests that records are decoded as they were encoded, and that other bytes are refused.
#include "starling/stream/journal/record_codec.hpp"

#include <gtest/gtest.h>

#include "starling/protocol/wire/reply_codec.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

log::Record record_of(log::RecordType type, const RecordBytes& bytes) {
  return {.type = type, .version = record_version, .sequence = 5, .payload = bytes};
}

RecordBytes request_bytes(const RecordBytes& change) {
  const protocol::Frame reply = protocol::encode_batch_reply({1, 2}, {.accepted = 3});
  RecordBytes bytes;
  encode(
      RequestNote{
          .session = 10, .sequence = 11, .body_hash = 12, .principal = 13, .reply = reply.bytes()},
      change, bytes);
  return bytes;
}

RequestRecord request_of(const RecordBytes& change) {
  return std::get<RequestRecord>(decode(record_of(record_type::request, request_bytes(change))));
}

protocol::RowSet<ObjectUpdate> three_objects() {
  protocol::RowSet<ObjectUpdate> set;
  for (std::int32_t i = 1; i <= 3; ++i)
    set.rows.push_back({.id = ObjectId{std::uint64_t(i)},
                        .time_us = -i,
                        .position = {i, -i, 1 << 29},
                        .tags = 7,
                        .has_tags = i == 2});
  set.reasons.resize(3);
  return set;
}

TEST(RecordCodec, RejectedRowsAreLeftOutAndLateOnesStay) {
  RecordBytes change;
  const std::vector<UpdateStatus> statuses{UpdateStatus::accepted, UpdateStatus::future,
                                           UpdateStatus::late};
  encode_change(three_objects(), statuses, change);
  const RequestRecord record = request_of(change);
  EXPECT_EQ(record.session, 10u);
  EXPECT_EQ(record.sequence, 11u);
  EXPECT_EQ(record.body_hash, 12u);
  EXPECT_EQ(record.principal, 13u);
  EXPECT_EQ(std::get<protocol::BatchReply>(record.reply).accepted, 3u);
  const auto& rows = std::get<ObjectsChange>(record.change).rows;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].id, ObjectId{1});
  EXPECT_EQ(rows[1].id, ObjectId{3});
  EXPECT_EQ(rows[1].time_us, -3);
  EXPECT_EQ(rows[1].position, (LatticePoint{3, -3, 1 << 29}));
  EXPECT_EQ(rows[1].tags, 7u);
  EXPECT_FALSE(rows[1].has_tags);
}

TEST(RecordCodec, QueriesKeepEachOfTheirFields) {
  protocol::RowSet<QueryDefinition> set;
  QueryDefinition query{
      .id = QueryId{9},
      .k = 4,
      .anchor = {.kind = AnchorKind::follow, .position = {1, 2, 3}, .object = ObjectId{5}},
      .filter = {.tags = {.required = 6, .forbidden = 8},
                 .key_max = RankKey{99},
                 .age_us_max = 100},
      .subject = {.required = 1, .forbidden = 2},
      .lease_end_us = -77,
      .components = {0.5f, -1.0f},
      .vote = true,
      .regress = RegressionWeights::distance};
  set.rows = {query, query};
  const std::vector<QueryStatus> statuses{QueryStatus::not_owner, QueryStatus::accepted};
  RecordBytes change;
  encode_change("a stream", set, statuses, change);
  const RequestRecord record = request_of(change);
  const auto& read = std::get<QueriesChange>(record.change);
  EXPECT_EQ(read.stream, "a stream");
  ASSERT_EQ(read.rows.size(), 1u);
  const QueryDefinition& row = read.rows[0];
  EXPECT_EQ(row.id, query.id);
  EXPECT_EQ(row.k, query.k);
  EXPECT_EQ(row.anchor.kind, query.anchor.kind);
  EXPECT_EQ(row.anchor.position, query.anchor.position);
  EXPECT_EQ(row.anchor.object, query.anchor.object);
  EXPECT_EQ(row.filter, query.filter);
  EXPECT_EQ(row.subject, query.subject);
  EXPECT_EQ(row.lease_end_us, query.lease_end_us);
  EXPECT_EQ(row.components, query.components);
  EXPECT_TRUE(row.vote);
  EXPECT_EQ(row.regress, query.regress);
}

TEST(RecordCodec, AStreamKeepsItsDefinitionAndIsKnownAsOne) {
  RecordBytes change;
  encode_change(protocol::PutStream{.name = "s",
                                    .on = ReportOn::distance,
                                    .with = {.distance = false, .position = true, .tags = false}},
                change);
  EXPECT_TRUE(is_of_stream(change));
  const RequestRecord record = request_of(change);
  const auto& stream = std::get<StreamChange>(record.change);
  EXPECT_EQ(stream.name, "s");
  EXPECT_EQ(stream.on, ReportOn::distance);
  EXPECT_EQ(stream.with, (ReportWith{.distance = false, .position = true, .tags = false}));
  EXPECT_FALSE(is_of_stream({}));
}

TEST(RecordCodec, ARequestMayChangeNothing) {
  EXPECT_TRUE(std::holds_alternative<std::monostate>(request_of({}).change));
}

TEST(RecordCodec, ARecordThatIsCutAnywhereOrTooLongIsRefused) {
  RecordBytes change;
  const std::vector<UpdateStatus> statuses(3, UpdateStatus::accepted);
  encode_change(three_objects(), statuses, change);
  RecordBytes bytes = request_bytes(change);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const RecordBytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_THROW(decode(record_of(record_type::request, cut)), UnknownRecord) << length;
  }
  bytes.push_back(std::byte{0});
  EXPECT_THROW(decode(record_of(record_type::request, bytes)), UnknownRecord);
}

TEST(RecordCodec, RunsAreReadAsTheyWereWritten) {
  const std::vector<protocol::Run> runs{{.id = 3, .begun = 40}, {.id = 9, .begun = 2}};
  RecordBytes bytes;
  encode(RunRecord{runs}, bytes);
  EXPECT_EQ(std::get<RunRecord>(decode(record_of(record_type::run, bytes))).runs, runs);
  bytes.pop_back();
  EXPECT_THROW(decode(record_of(record_type::run, bytes)), UnknownRecord);
  bytes.clear();
  encode(RunRecord{}, bytes);
  EXPECT_THROW(decode(record_of(record_type::run, bytes)), UnknownRecord) << "no run";
}

TEST(RecordCodec, OutgrownQueriesAreReadAsTheyWereWritten) {
  const OutgrownRecord record{.tick = Tick{8}, .stream = "a stream", .ids = {3, 1, ~0ull}};
  RecordBytes bytes;
  encode(record, bytes);
  const auto read = std::get<OutgrownRecord>(decode(record_of(record_type_of(record), bytes)));
  EXPECT_EQ(read.tick, record.tick);
  EXPECT_EQ(read.stream, record.stream);
  EXPECT_EQ(read.ids, record.ids);
  bytes.pop_back();
  EXPECT_THROW(decode(record_of(record_type::outgrown, bytes)), UnknownRecord);
}

TEST(RecordCodec, ATypeOrVersionFromTheFutureIsRefused) {
  RecordBytes bytes;
  encode(EpochRecord{7}, bytes);
  EXPECT_EQ(std::get<EpochRecord>(decode(record_of(record_type::epoch, bytes))).epoch, 7u);
  EXPECT_THROW(decode(record_of(log::RecordType{999}, bytes)), UnknownRecord);
  log::Record later = record_of(record_type::epoch, bytes);
  later.version = record_version + 1;
  EXPECT_THROW(decode(later), UnknownRecord);
}

TEST(RecordCodec, RandomBytesNeverDoMoreThanBeRefused) {
  test::Random random(3);
  for (int i = 0; i < 60'000; ++i) {
    RecordBytes bytes(random.below(80));
    for (std::byte& byte : bytes)
      byte = static_cast<std::byte>(random.below(random.chance(0.5) ? 4 : 256));
    try {
      const auto type = static_cast<std::uint16_t>(1 + random.below(34));
      decode(record_of(log::RecordType{type}, bytes));
    } catch (const UnknownRecord&) {
    }
  }
}

}  // namespace
}  // namespace starling::stream
