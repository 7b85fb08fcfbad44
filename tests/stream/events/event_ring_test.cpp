// SPDX-License-Identifier: Apache-2.0
// Tests that the ring keeps its limits on bytes and ticks, makes each event once, and forgets ticks
// that are lost or too long.
#include "starling/stream/events/event_ring.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/knn/words/report.hpp"

namespace starling::stream {
namespace {

const ListForm form{{"x", "y"}, [](ObjectId) { return std::string_view(); }};

/// A message with a list of `count` neighbours.
protocol::TickMessage message_of(std::uint64_t sequence, std::size_t count = 1) {
  static const Lattice lattice{SpaceOptions{}};
  std::vector<Neighbor> neighbors;
  for (std::uint64_t id = 9; id < 9 + count; ++id) neighbors.push_back({RankKey{4}, ObjectId{id}});
  const std::vector<QueryReport> reports{
      {.query = QueryId{3}, .neighbors = neighbors, .states = {}}};
  return protocol::encode_tick("riders", {.epoch = 5, .tick = Tick{sequence}, .sequence = sequence},
                               {.reports = reports, .with = {}, .lattice = &lattice});
}

TEST(EventRing, HoldsTheNewestTicks) {
  EventRing ring(form, 1 << 20, 3);
  EXPECT_TRUE(ring.is_new());
  EXPECT_FALSE(ring.covers(1));
  for (std::uint64_t sequence = 11; sequence <= 15; ++sequence)
    ring.push(sequence, message_of(sequence));
  EXPECT_EQ(ring.first(), 13u);
  EXPECT_EQ(ring.end(), 16u);
  EXPECT_FALSE(ring.covers(12));
  EXPECT_TRUE(ring.covers(13));
  EXPECT_TRUE(ring.covers(16)) << "the next one";
  EXPECT_FALSE(ring.covers(17));
}

TEST(EventRing, MakesAnEventOnce) {
  EventRing ring(form, 1 << 20, 3);
  ring.push(1, message_of(1));
  const EventText text = ring.event(1);
  EXPECT_EQ(text, ring.event(1));
  EXPECT_EQ(
      *text,
      "id: 5-1\nevent: tick\ndata: {\"sequence\":1,\"tick\":1,\"time_us\":0,\"removed\":[],"
      "\"lists\":[{\"query\":\"3\",\"neighbors\":[{\"id\":\"9\",\"distance_m\":0.02}]}]}\n\n");
  EXPECT_EQ(ring.bytes(), text->size());
}

TEST(EventRing, HoldsNoMoreThanItsBytes) {
  const std::size_t bytes = message_of(1, 100).bytes();
  EventRing ring(form, 10 * bytes, 1000);
  for (std::uint64_t sequence = 1; sequence <= 50; ++sequence) {
    ring.push(sequence, message_of(sequence, 100));
    ASSERT_LE(ring.bytes(), 10 * bytes);
  }
  EXPECT_EQ(ring.first(), 41u);
  EXPECT_NE(ring.event(49), nullptr);
  EXPECT_NE(ring.event(50), nullptr);
  EXPECT_LE(ring.bytes(), 10 * bytes);
  EXPECT_GT(ring.first(), 41u) << "JSON is longer than the wire";
}

TEST(EventRing, DropsWhatIsTooLongAndAllBefore) {
  EventRing ring(form, 10'000, 1000);
  ring.push(1, message_of(1));
  ring.push(2, message_of(2, 500));  // within the limit on the wire, but longer as an event
  ring.push(3, message_of(3));
  EXPECT_TRUE(ring.covers(2));
  EXPECT_EQ(ring.event(2), nullptr);
  EXPECT_EQ(ring.first(), 3u);
  EXPECT_NE(ring.event(3), nullptr);
  ring.push(4, message_of(4, 5000));  // longer than the limit on the wire
  EXPECT_EQ(ring.first(), 5u);
  EXPECT_EQ(ring.bytes(), 0u);
  EXPECT_TRUE(ring.covers(5));
}

TEST(EventRing, HasNoHoles) {
  EventRing ring(form, 1 << 20, 1000);
  ring.push(1, message_of(1));
  ring.push(3, message_of(3));
  EXPECT_FALSE(ring.covers(2));
  EXPECT_TRUE(ring.covers(3));
  ring.lose(4);
  EXPECT_FALSE(ring.covers(3));
  EXPECT_TRUE(ring.covers(5));
  ring.push(5, message_of(5));
  EXPECT_EQ(ring.first(), 5u);
  ring.push(4, message_of(4));  // a message that has come before
  EXPECT_EQ(ring.end(), 6u);
}

}  // namespace
}  // namespace starling::stream
