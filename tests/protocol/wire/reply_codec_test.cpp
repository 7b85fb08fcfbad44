// SPDX-License-Identifier: Apache-2.0
// Tests that replies decode to the values that were encoded, including their lists.
#include "starling/protocol/wire/reply_codec.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/client/list_store.hpp"
#include "tests/protocol/wire/samples.hpp"

namespace starling::protocol {
namespace {

constexpr ReplyHead head{41, 42};

/// A decoded reply, and the frame that it points into.
struct Decoded {
  explicit Decoded(Frame encoded) : frame(std::move(encoded)), bytes(frame.bytes()) {
    reply = decode_reply(bytes);
  }
  template <class Body>
  const Body& as() const {
    EXPECT_FALSE(reply.problem) << reply.problem->sentence;
    EXPECT_EQ(reply.head, head);
    return std::get<Body>(reply.body);
  }

  Frame frame;
  AlignedBytes bytes;
  DecodedReply reply;
};

TEST(ReplyCodec, AnErrorCarriesItsCodeSentenceAndTheNextNumber) {
  const Decoded decoded(
      encode_error(head, {{ErrorCode::sequence_gap, "Sent 9 after 5.", {"rows-max", 7}}, 6}));
  const auto& reply = decoded.as<ErrorReply>();
  EXPECT_EQ(reply.problem.code, ErrorCode::sequence_gap);
  EXPECT_EQ(reply.problem.sentence, "Sent 9 after 5.");
  EXPECT_EQ(reply.problem.limit, (ReachedLimit{"rows-max", 7}));
  EXPECT_EQ(reply.sequence_expected, 6u);
}

TEST(ReplyCodec, AHelloReplyCarriesTheServersTerms) {
  HelloReply sent{.session = 1,
                  .resumed = true,
                  .last_sequence = 2,
                  .epoch = 3,
                  .server = "starling 0",
                  .space = {Space::planar3, 0.5, {1, 2, 3}},
                  .manual_ticks = true,
                  .limits = {.space = Space::planar3,
                             .frame_bytes_max = 4,
                             .rows_max = 5,
                             .credit_rows = 6,
                             .credit_bytes = 7,
                             .unanswered_max = 8,
                             .k_max = 9,
                             .questions_max = 10,
                             .text_bytes_max = 11,
                             .names_asked_max = 13},
                  .session_idle_ms = 12,
                  .runs = {{.id = 14, .begun = 15}, {.id = 16, .begun = 17}},
                  .next_sequence = 18,
                  .results = "tcp://0.0.0.0:19"};
  const Decoded decoded(encode_hello_reply(head, sent));
  const auto& reply = decoded.as<HelloReply>();
  EXPECT_EQ(reply.session, 1u);
  EXPECT_TRUE(reply.resumed);
  EXPECT_EQ(reply.last_sequence, 2u);
  EXPECT_EQ(reply.epoch, 3u);
  EXPECT_EQ(reply.server, "starling 0");
  EXPECT_EQ(reply.space, sent.space);
  EXPECT_TRUE(reply.manual_ticks);
  EXPECT_EQ(reply.limits, sent.limits);
  EXPECT_EQ(reply.session_idle_ms, 12u);
  EXPECT_EQ(reply.runs, sent.runs);
  EXPECT_EQ(reply.next_sequence, 18u);
  EXPECT_EQ(reply.results, "tcp://0.0.0.0:19");
}

TEST(ReplyCodec, ThePlaceOfAReplyCanBeSetWhenItIsEncoded) {
  Frame frame = encode_done({.request_id = 1, .sequence = 2, .place = 1});
  set_place(frame, 77);
  EXPECT_EQ(Decoded(frame).reply.head, (ReplyHead{1, 2, 77}));
}

TEST(ReplyCodec, ABatchReplyCarriesCountsReasonsAndRows) {
  const BatchReply sent{
      5,
      1,
      3,
      {{RowReason::future, 2}, {RowReason::too_many_objects, 1, {"objects-max", 9}}},
      {{3, RowReason::future}, {4, RowReason::too_many_objects}}};
  const Decoded decoded(encode_batch_reply(head, sent));
  EXPECT_EQ(decoded.as<BatchReply>(), sent);
}

TEST(ReplyCodec, ABatchReplyCarriesTheComponentsAtFault) {
  const BatchReply sent{0,
                        0,
                        2,
                        {{RowReason::component_too_large, 1}, {RowReason::future, 1}},
                        {{3, RowReason::component_too_large, 4095}, {4, RowReason::future}}};
  const Decoded decoded(encode_batch_reply(head, sent));
  EXPECT_EQ(decoded.as<BatchReply>(), sent);
}

TEST(ReplyCodec, AHelloReplyCarriesDimensionAndMetric) {
  const Limits limits{.space = Space::vector, .dimension = 4096, .metric = Metric::inner_product};
  SpaceOptions space;
  space.space = Space::vector;
  space.dimension = 4096;
  space.metric = Metric::inner_product;
  const Decoded decoded(encode_hello_reply(head, {.session = 1, .space = space, .limits = limits}));
  EXPECT_EQ(decoded.as<HelloReply>().space, space);
  EXPECT_EQ(decoded.as<HelloReply>().limits, limits);
}

TEST(ReplyCodec, AServerOfVectorsWithoutADimensionIsRefused) {
  SpaceOptions space;
  space.space = Space::vector;
  for (const std::uint32_t dimension : {0u, 4097u}) {
    const Decoded decoded(encode_hello_reply(
        head, {.space = space, .limits = {.space = Space::vector, .dimension = dimension}}));
    ASSERT_TRUE(decoded.reply.problem) << dimension;
    EXPECT_EQ(decoded.reply.problem->code, ErrorCode::malformed);
    EXPECT_FALSE(std::holds_alternative<HelloReply>(decoded.reply.body))
        << "nobody may take the default terms for the server's";
  }
}

TEST(ReplyCodec, ATickDoneCarriesItsCountsAndTimes) {
  const Decoded decoded(encode_tick_done(head, {Tick{1}, -2, 3, 4, 5, 6.5, 7.5, 8.5}));
  const auto& reply = decoded.as<TickDone>();
  EXPECT_EQ(reply.tick, Tick{1});
  EXPECT_EQ(reply.tau_us, -2);
  EXPECT_EQ(reply.object_count, 3u);
  EXPECT_EQ(reply.list_count, 4u);
  EXPECT_EQ(reply.removal_count, 5u);
  EXPECT_EQ(reply.build_ms, 6.5);
  EXPECT_EQ(reply.search_ms, 7.5);
  EXPECT_EQ(reply.diff_ms, 8.5);
}

TEST(ReplyCodec, StatsAreNamesAndValues) {
  const Decoded decoded(encode_stats(head, {{{"ticks_total", 17}, {"queue_depth", 0.5}}}));
  const auto& reply = decoded.as<Stats>();
  ASSERT_EQ(reply.counters.size(), 2u);
  EXPECT_EQ(reply.counters[1].name, "queue_depth");
  EXPECT_EQ(reply.counters[1].value, 0.5);
  EXPECT_EQ(Decoded(encode_done(head)).as<Done>().sequence, 0u);
  EXPECT_EQ(Decoded(encode_done(head, {.sequence = 5})).as<Done>().sequence, 5u);
}

TEST(ReplyCodec, ASnapshotPageCarriesItsTickAndLists) {
  const test::SampleLists lists;
  const Decoded decoded(encode_snapshot_page(
      head, {"riders", 1, Tick{2}, 3, 4, 5, 6, {}, {{7, 8}}, 9}, lists.source()));
  const auto& page = decoded.as<SnapshotPage>();
  EXPECT_EQ(page.head.stream, "riders");
  EXPECT_EQ(page.head.epoch, 1u);
  EXPECT_EQ(page.head.tick, Tick{2});
  EXPECT_EQ(page.head.tau_us, 3);
  EXPECT_EQ(page.head.sequence, 4u);
  EXPECT_EQ(page.head.next_page, 5u);
  EXPECT_EQ(page.head.list_count, 6u);
  EXPECT_EQ(page.head.with, lists.source().with);
  EXPECT_EQ(page.head.runs, (std::vector<protocol::Run>{{7, 8}}));
  EXPECT_EQ(page.head.place, 9u);
  ASSERT_EQ(page.lists.list_count(), 3u);
  EXPECT_EQ(key_of(page.lists, 0), (ListKey{QueryId{1}, true, ObjectId{55}}));
  EXPECT_EQ(key_of(page.lists, 1), (ListKey{QueryId{2}, false, ObjectId{}}));
  EXPECT_EQ(page.lists.event_of(2), ListEvent::removed);
  const HeldList held = list_of(page.lists, 0);
  const HeldList expected{{{ObjectId{100}, 0.05}, {ObjectId{101}, 1.0}},
                          {{{3, 4, 0}, 1}, {{-1, 0, 0}, 2}}};
  EXPECT_EQ(held, expected);
  EXPECT_EQ(list_of(page.lists, 1), HeldList{});
}

TEST(ReplyCodec, ListsOfVectorsCarryTheMetricsDistancesVotesAndMeans) {
  const test::SampleVectorLists lists;
  const Decoded decoded(encode_neighbors(head, {1, Tick{2}, 3}, lists.source()));
  const auto& answer = decoded.as<Neighbors>();
  const HeldList expected{
      {{ObjectId{100}, 0.25}, {ObjectId{101}, 1.0}}, {{{}, 1}, {{}, 2}}, -7, -0.5};
  EXPECT_EQ(list_of(answer.lists, 0), expected);
  EXPECT_EQ(list_of(answer.lists, 1).vote, no_label);
  EXPECT_EQ(answer.lists.votes.size(), 4u);
  EXPECT_EQ(answer.lists.means.size(), 4u);
  for (const std::size_t list : {1u, 2u, 3u}) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(answer.lists.mean_of(list)),
              std::bit_cast<std::uint64_t>(no_value));
    EXPECT_EQ(list_of(answer.lists, list).mean, std::nullopt);
  }
}

std::vector<QueryReport> empty_answers(std::size_t questions) {
  std::vector<QueryReport> reports(questions);
  for (std::size_t i = 0; i < questions; ++i) reports[i].query = QueryId{i};
  return reports;
}

TEST(ReplyCodec, NeighborsNameTheQuestionsAboutUnknownObjects) {
  const std::vector<QueryReport> reports = empty_answers(2);
  const Lattice lattice{SpaceOptions{}};
  const ListSource lists{.reports = reports, .with = {}, .lattice = &lattice};
  const Decoded none(encode_neighbors(head, {1, Tick{2}, 3}, lists));
  EXPECT_TRUE(none.as<Neighbors>().unknown.empty());
  const std::uint32_t second = 1;
  const Decoded one(encode_neighbors(head, {1, Tick{2}, 3}, lists, {&second, 1}));
  EXPECT_THAT(one.as<Neighbors>().unknown, testing::ElementsAre(1u));
  EXPECT_EQ(one.as<Neighbors>().lists.list_count(), 2u);
}

TEST(ReplyCodec, UnknownObjectsThatAreNoAscendingIndexesOfEmptyListsAreMalformed) {
  const Neighbor neighbor{RankKey{1}, ObjectId{7}};
  std::vector<QueryReport> reports = empty_answers(3);
  reports[1].neighbors = std::span(&neighbor, 1);
  const Lattice lattice{SpaceOptions{}};
  const ListSource lists{.reports = reports, .with = {}, .lattice = &lattice};
  using Indexes = std::vector<std::uint32_t>;
  for (const Indexes& unknown :
       {Indexes{3}, Indexes{1}, Indexes{2, 0}, Indexes{0, 0}, Indexes{0, 0xffffffff}}) {
    const Frame frame = encode_neighbors(head, {1, Tick{2}, 3}, lists, unknown);
    const AlignedBytes bytes(frame.bytes());
    const DecodedReply reply = decode_reply(bytes);
    ASSERT_TRUE(reply.problem);
    EXPECT_EQ(reply.problem->code, ErrorCode::malformed);
    EXPECT_THAT(reply.problem->sentence, testing::HasSubstr("`unknown`"));
  }
  const Decoded good(encode_neighbors(head, {1, Tick{2}, 3}, lists, Indexes{0, 2}));
  EXPECT_THAT(good.as<Neighbors>().unknown, testing::ElementsAre(0u, 2u));
}

TEST(ReplyCodec, WhereNoQueryVotesThereAreNoVotes) {
  test::SampleVectorLists lists;
  for (QueryReport& report : lists.reports) report.vote.reset();
  const Decoded decoded(encode_neighbors(head, {1, Tick{2}, 3}, lists.source()));
  EXPECT_TRUE(decoded.as<Neighbors>().lists.votes.empty());
  EXPECT_EQ(list_of(decoded.as<Neighbors>().lists, 0).vote, no_label);
}

TEST(ReplyCodec, WhereNoQueryAsksForAMeanThereAreNoMeans) {
  test::SampleVectorLists lists;
  for (QueryReport& report : lists.reports) report.mean.reset();
  const Decoded decoded(encode_neighbors(head, {1, Tick{2}, 3}, lists.source()));
  EXPECT_TRUE(decoded.as<Neighbors>().lists.means.empty());
  EXPECT_EQ(list_of(decoded.as<Neighbors>().lists, 0).mean, std::nullopt);
  EXPECT_EQ(list_of(decoded.as<Neighbors>().lists, 0).vote, -7);
}

TEST(ReplyCodec, NamesComeInTheOrderAskedAndEmptyWhereThereIsNone) {
  const Names sent{7, 8, {"bus 7", "", "stra\u00dfe", ""}};
  const Decoded decoded(encode_names(head, sent));
  const auto& reply = decoded.as<Names>();
  EXPECT_EQ(reply.epoch, 7u);
  EXPECT_EQ(reply.name_count, 8u);
  EXPECT_EQ(reply.texts, sent.texts);
  const Decoded none(encode_names(head, {}));
  EXPECT_TRUE(none.as<Names>().texts.empty());
}

TEST(ReplyCodec, ANameThatIsNotUtf8OrHasANulIsRefused) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {"\xff"sv, "a\0b"sv, "\xc0\xaf"sv}) {
    const Decoded decoded(encode_names(head, {1, 2, {text}}));
    ASSERT_TRUE(decoded.reply.problem);
    EXPECT_EQ(decoded.reply.problem->code, ErrorCode::malformed);
  }
}

TEST(ReplyCodec, PagesOfStreamsAndQueriesKeepEveryField) {
  const Streams streams{1,
                        2,
                        3,
                        {{"riders", ReportOn::distance, {false, true, true}, 4, 5, 6},
                         {"drivers", ReportOn::membership, {}, 0, 0, 0}}};
  const Decoded decoded(encode_streams(head, streams));
  const auto& reply = decoded.as<Streams>();
  EXPECT_EQ(reply.epoch, 1u);
  EXPECT_EQ(reply.next_page, 2u);
  EXPECT_EQ(reply.stream_count, 3u);
  EXPECT_EQ(reply.streams, streams.streams);

  const Queries queries{7,
                        8,
                        9,
                        {{.id = QueryId{1},
                          .k = 3,
                          .position = {1, 2, 3},
                          .tags = {4, 5},
                          .distance_max_m = 6.5,
                          .age_max_us = 7,
                          .lease_ms = 8},
                         {.id = QueryId{2},
                          .anchor = AnchorKind::every_object,
                          .subject = {1, 2},
                          .vote = true,
                          .regress = RegressionWeights::uniform},
                         {.id = QueryId{3}, .vector = {1, 2.5f}},
                         {.id = QueryId{4}, .anchor = AnchorKind::follow, .object = ObjectId{5}}}};
  const Decoded decoded_queries(encode_queries(head, queries));
  const auto& listed = decoded_queries.as<Queries>();
  EXPECT_EQ(listed.epoch, 7u);
  EXPECT_EQ(listed.next_page, 8u);
  EXPECT_EQ(listed.query_count, 9u);
  EXPECT_EQ(listed.queries, queries.queries);
}

TEST(ReplyCodec, APageOfObjectsHasOneElementOfEachArrayForEachObject) {
  const std::uint64_t ids[] = {1, 2};
  const std::int64_t times_us[] = {3, 4};
  const double positions[] = {1, 2, 3, 4, 5, 6};
  const std::uint32_t tags[] = {7, 8};
  const Objects sent{.epoch = 1,
                     .next_page = 2,
                     .object_count = 3,
                     .ids = ids,
                     .times_us = times_us,
                     .positions = positions,
                     .tags = tags,
                     .names = {"bus 7", ""},
                     .missing_ids = ids};
  const Decoded decoded(encode_objects(head, sent));
  const auto& reply = decoded.as<Objects>();
  EXPECT_EQ(reply.epoch, 1u);
  EXPECT_EQ(reply.next_page, 2u);
  EXPECT_EQ(reply.object_count, 3u);
  EXPECT_TRUE(std::ranges::equal(reply.ids, ids));
  EXPECT_TRUE(std::ranges::equal(reply.times_us, times_us));
  EXPECT_TRUE(std::ranges::equal(reply.positions, positions));
  EXPECT_TRUE(std::ranges::equal(reply.tags, tags));
  EXPECT_EQ(reply.names, sent.names);
  EXPECT_TRUE(std::ranges::equal(reply.missing_ids, ids));

  const auto expect_refused = [&](Objects wrong) {
    const Decoded refused(encode_objects(head, wrong));
    ASSERT_TRUE(refused.reply.problem);
    EXPECT_EQ(refused.reply.problem->code, ErrorCode::malformed);
  };
  Objects wrong = sent;
  wrong.times_us = wrong.times_us.first(1);
  expect_refused(wrong);
  wrong = sent;
  wrong.positions = wrong.positions.first(5);
  expect_refused(wrong);
  wrong = sent;
  wrong.tags = {};
  expect_refused(wrong);
  wrong = sent;
  wrong.names.pop_back();
  expect_refused(wrong);
}

TEST(ReplyCodec, ARequestIsNoReply) {
  for (const auto& sample : test::sample_request_frames())
    EXPECT_TRUE(decode_reply(AlignedBytes(sample.bytes)).problem) << sample.name;
}

}  // namespace
}  // namespace starling::protocol
