// SPDX-License-Identifier: Apache-2.0
// Tests a tick's message: its topic, the counts in its header, and its chunks. Each chunk holds
// whole lists and has at most 16 MiB.
#include "starling/protocol/wire/tick_message.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "starling/protocol/wire/limits.hpp"
#include "tests/protocol/wire/samples.hpp"

namespace starling::protocol {
namespace {

std::vector<AlignedBytes> frames_of(const TickMessage& message) {
  std::vector<AlignedBytes> frames;
  frames.emplace_back(message.header.bytes());
  for (const Frame& chunk : message.chunks) frames.emplace_back(chunk.bytes());
  return frames;
}

TEST(TickMessage, ATopicEndsInNulSoThatNoNameIsAnothersPrefix) {
  EXPECT_EQ(topic_of("rider"), std::string("rider\0", 6));
  EXPECT_FALSE(topic_of("riders").starts_with(topic_of("rider")));
}

TEST(TickMessage, TheHeaderSurvivesAndCountsTheLists) {
  const test::SampleLists lists;
  const TickHeader sent{.epoch = 1,
                        .tick = Tick{2},
                        .tau_us = -3,
                        .newest_time_us = 4,
                        .sequence = 5,
                        .failed = true,
                        .object_count = 6,
                        .space = Space::wgs84,
                        .on = ReportOn::distance,
                        .stream_removed = true,
                        .at = {{.id = 7, .begun = 8}, 9, 10}};
  const TickMessage message = encode_tick("riders", sent, lists.source());
  EXPECT_EQ(message.topic, topic_of("riders"));
  const auto frames = frames_of(message);
  const DecodedTick decoded = decode_tick(frames);
  ASSERT_FALSE(decoded.problem) << decoded.problem->sentence;
  TickHeader expected = sent;
  expected.chunk_count = 1;
  expected.list_count = 2;
  expected.removal_count = 1;
  expected.with = {true, true, true};
  EXPECT_EQ(decoded.header, expected);
}

TEST(TickMessage, ASilentTickIsItsHeaderAlone) {
  const TickMessage message = encode_tick("riders", {.sequence = 5}, {});
  EXPECT_TRUE(message.chunks.empty());
  const auto frames = frames_of(message);
  const DecodedTick decoded = decode_tick(frames);
  EXPECT_FALSE(decoded.problem);
  EXPECT_EQ(decoded.header.newest_time_us, TickHeader::no_time);
}

TEST(TickMessage, ColumnsThatAStreamDoesNotCarryAreAbsent) {
  test::SampleLists lists;
  const ListSource ids_alone{lists.reports, {.distance = false}, &lists.lattice};
  const TickMessage message = encode_tick("riders", {}, ids_alone);
  const auto frames = frames_of(message);
  const DecodedTick decoded = decode_tick(frames);
  ASSERT_FALSE(decoded.problem);
  const ListChunk& chunk = decoded.chunks.front();
  EXPECT_EQ(chunk.object_ids.size(), 2u);
  EXPECT_TRUE(chunk.distances_m.empty());
  EXPECT_TRUE(chunk.positions.empty());
  EXPECT_TRUE(chunk.tags.empty());
}

TEST(TickMessage, ATickBegunBeforeItsStreamAskedForPositionsHasNone) {
  test::SampleLists lists;
  for (QueryReport& report : lists.reports) report.states = {};
  const TickMessage message = encode_tick("riders", {}, lists.source());
  const auto frames = frames_of(message);
  const DecodedTick decoded = decode_tick(frames);
  ASSERT_FALSE(decoded.problem) << decoded.problem->sentence;
  EXPECT_EQ(decoded.header.with, (ReportWith{true, false, false}));
}

TEST(TickMessage, ChunksStayWithin16MiBAndHoldWholeListsInOrder) {
  const Lattice lattice{SpaceOptions{}};
  std::vector<Neighbor> neighbors(1024);
  for (std::size_t rank = 0; rank < neighbors.size(); ++rank)
    neighbors[rank] = {RankKey{rank}, ObjectId{rank}};
  std::vector<QueryReport> reports(3000);
  for (std::size_t list = 0; list < reports.size(); ++list) {
    reports[list].query = QueryId{list};
    reports[list].neighbors = std::span(neighbors).first(list % 1025);
  }
  const TickMessage message = encode_tick("riders", {}, {reports, {}, &lattice});
  EXPECT_GT(message.chunks.size(), 1u);
  for (const Frame& chunk : message.chunks) EXPECT_LE(chunk.size(), chunk_bytes_max);
  const auto frames = frames_of(message);
  const DecodedTick decoded = decode_tick(frames);
  ASSERT_FALSE(decoded.problem) << decoded.problem->sentence;
  std::uint64_t next = 0;
  for (const ListChunk& chunk : decoded.chunks)
    for (std::size_t list = 0; list < chunk.list_count(); ++list, ++next) {
      ASSERT_EQ(chunk.query_ids[list], next);
      ASSERT_EQ(chunk.neighbor_count(list), next % 1025);
    }
  EXPECT_EQ(next, reports.size());
}

TEST(TickMessage, PartsInAnyOrderMakeTheSameMessage) {
  const Lattice lattice{SpaceOptions{}};
  std::vector<Neighbor> neighbors(10);
  for (std::size_t rank = 0; rank < neighbors.size(); ++rank)
    neighbors[rank].object = ObjectId{rank};
  std::vector<QueryReport> reports(20'000);
  for (std::size_t list = 0; list < reports.size(); ++list) {
    reports[list].query = QueryId{list};
    reports[list].event = list % 7 == 0 ? ListEvent::removed : ListEvent::updated;
    if (list % 7 != 0) reports[list].neighbors = neighbors;
  }
  const ListSource lists{reports, {}, &lattice};
  const TickMessage expected = encode_tick("riders", {}, lists);
  TickEncoding encoding("riders", {}, lists);
  EXPECT_GT(encoding.part_count(), 1u);
  for (std::size_t part = encoding.part_count(); part-- > 0;) encoding.encode_part(part);
  const TickMessage message = encoding.finish();
  const auto frames = frames_of(message);
  const auto expected_frames = frames_of(expected);
  ASSERT_EQ(frames.size(), expected_frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(frames[i].bytes(), expected_frames[i].bytes())) << i;
  const DecodedTick decoded = decode_tick(frames);
  ASSERT_FALSE(decoded.problem) << decoded.problem->sentence;
  EXPECT_EQ(decoded.header.removal_count, 2858u);
  EXPECT_EQ(decoded.header.list_count, reports.size() - 2858);
}

TEST(TickMessage, AnExactFitIsOneChunk) {
  const std::vector<Neighbor> neighbors(1024);
  std::vector<QueryReport> reports(2000);
  for (QueryReport& report : reports) report.neighbors = neighbors;
  const std::size_t count = lists_that_fit(reports, {});
  EXPECT_EQ(lists_that_fit(std::span(reports).first(count), {}), count);
  EXPECT_EQ(lists_that_fit({}, {}), 0u);
}

TEST(TickMessage, AMissingOrExtraChunkIsRefused) {
  const test::SampleLists lists;
  const TickMessage message = encode_tick("riders", {}, lists.source());
  auto frames = frames_of(message);
  EXPECT_TRUE(decode_tick(std::span(frames).first(1)).problem);
  EXPECT_TRUE(decode_tick({}).problem);
  frames.emplace_back(message.chunks.front().bytes());
  EXPECT_TRUE(decode_tick(frames).problem);
}

}  // namespace
}  // namespace starling::protocol
