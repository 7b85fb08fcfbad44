// SPDX-License-Identifier: Apache-2.0
// Tests that a stream reports exactly the changes that its definition asks for.
#include <gmock/gmock.h>

#include "tests/conformance/conformance.hpp"
#include "tests/support/words.hpp"

namespace starling::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ObjectId ann{1};
constexpr ObjectId bob{2};
constexpr ObjectId cat{3};

std::vector<std::uint32_t> streams_heard(const OracleTick& tick) {
  std::vector<std::uint32_t> streams;
  for (const auto& [key, report] : tick.reports) streams.push_back(key.stream);
  return streams;
}

ListEvent only_event(const OracleTick& tick) {
  EXPECT_EQ(tick.reports.size(), 1u);
  return tick.reports.begin()->second.event;
}

TEST_P(Conformance, AStreamHearsTheKindOfChangeItAskedFor) {
  Twin twin(engine(), {});
  constexpr std::uint32_t membership = 0, order = 1, distance = 2;
  twin.put_stream(stream("membership", ReportOn::membership));
  twin.put_stream(stream("order", ReportOn::order));
  twin.put_stream(stream("distance", ReportOn::distance));
  for (const std::uint32_t each : {membership, order, distance})
    twin.put_query(each, query(7, 2, fixed_at(0)));
  EXPECT_THAT(streams_heard(twin.tick(0)), ElementsAre(membership, order, distance))
      << "the first list, even empty";
  twin.update(fix(ann, 0, 1));
  twin.update(fix(bob, 0, 2));
  EXPECT_THAT(streams_heard(twin.tick(0)), ElementsAre(membership, order, distance));
  EXPECT_THAT(streams_heard(twin.tick(0)), IsEmpty());
  twin.update(fix(bob, 0, -2));
  EXPECT_THAT(streams_heard(twin.tick(0)), IsEmpty()) << "moved, but not nearer or farther";
  twin.update(fix(bob, 0, 3));
  EXPECT_THAT(streams_heard(twin.tick(0)), ElementsAre(distance));
  twin.update(fix(ann, 0, 4));
  EXPECT_THAT(streams_heard(twin.tick(0)), ElementsAre(order, distance));
  twin.update(fix(cat, 0, 2));
  EXPECT_THAT(streams_heard(twin.tick(0)), ElementsAre(membership, order, distance));
}

TEST_P(Conformance, ChangingWhatAStreamHearsActsOnTheNextTick) {
  Twin twin(engine(), {});
  twin.put_stream(stream("s", ReportOn::membership));
  twin.put_query(0, query(7, 2, fixed_at(0)));
  twin.update(fix(ann, 0, 1));
  twin.tick(0);
  twin.update(fix(ann, 0, 2));
  EXPECT_THAT(streams_heard(twin.tick(0)), IsEmpty());
  twin.put_stream(stream("s", ReportOn::distance, {.position = true}));
  EXPECT_THAT(streams_heard(twin.tick(0)), IsEmpty());
  twin.update(fix(ann, 0, 3));
  const OracleTick heard = twin.tick(0);
  ASSERT_THAT(streams_heard(heard), ElementsAre(0u));
  EXPECT_THAT(heard.reports.begin()->second.states, ElementsAre(NeighborState{{3, 0, 0}, 0}));
}

TEST_P(Conformance, ARedefinedQueryTellsChangesFromItsLastList) {
  Twin twin(engine(), {});
  twin.put_stream(stream("s"));
  twin.update(fix(ann, 0, 1));
  twin.put_query(0, query(7, 1, fixed_at(0)));
  twin.tick(0);
  twin.put_query(0, query(7, 5, follow(bob)));
  twin.put_query(0, query(7, 5, fixed_at(9)));
  EXPECT_THAT(streams_heard(twin.tick(0)), IsEmpty()) << "still ann alone";
  twin.put_query(0, query(7, 5, fixed_at(9), within(4)));
  EXPECT_EQ(only_event(twin.tick(0)), ListEvent::updated);
  EXPECT_THAT(twin.list(0, 7), IsEmpty());
}

TEST_P(Conformance, AQueryRemovedAndPutAgainIsANewOne) {
  Twin twin(engine(), {});
  twin.put_stream(stream("s"));
  twin.update(fix(ann, 0, 1));
  twin.put_query(0, query(7, 1, fixed_at(0)));
  twin.tick(0);
  twin.remove_query(0, QueryId{7});
  twin.put_query(0, query(7, 1, fixed_at(0)));
  EXPECT_EQ(only_event(twin.tick(0)), ListEvent::updated);
  twin.remove_query(0, QueryId{7});
  EXPECT_EQ(only_event(twin.tick(0)), ListEvent::removed);
  EXPECT_THAT(streams_heard(twin.tick(0)), IsEmpty());
  EXPECT_EQ(twin.remove_query(0, QueryId{7}), QueryStatus::unknown_query);
}

TEST_P(Conformance, TheRemovalOfAnEveryObjectQueryIsReportedOnceAndForAllItsLists) {
  Twin twin(engine(), {});
  twin.put_stream(stream("s"));
  twin.put_query(0, query(7, 1, every_object()));
  twin.put_query(0, query(8, 1, every_object()));
  twin.tick(0);
  twin.remove_query(0, QueryId{8});
  EXPECT_EQ(only_event(twin.tick(0)), ListEvent::removed) << "although it had no list yet";
  twin.update(fix(ann, 0, 1));
  twin.update(fix(bob, 0, 3));
  twin.tick(0);
  twin.remove_query(0, QueryId{7});
  EXPECT_EQ(only_event(twin.tick(0)), ListEvent::removed);
  EXPECT_FALSE(twin.has_list(0, 7, ann));
  EXPECT_FALSE(twin.has_list(0, 7, bob));
}

TEST_P(Conformance, AQueryThatCameAndWentBetweenTicksIsNeverHeardOf) {
  Twin twin(engine(), {});
  twin.put_stream(stream("s"));
  twin.put_query(0, query(7, 1, fixed_at(0)));
  twin.remove_query(0, QueryId{7});
  EXPECT_THAT(streams_heard(twin.tick(0)), IsEmpty());
}

TEST_P(Conformance, AnchorsOfEveryKindReplaceOneAnother) {
  Twin twin(engine(), {});
  twin.put_stream(stream("s"));
  twin.update(fix(ann, 0, 1));
  twin.update(fix(bob, 0, 3));
  const std::vector<Anchor> anchors{fixed_at(0), every_object(), follow(ann), every_object(),
                                    fixed_at(0), follow(bob),    fixed_at(2)};
  for (const Anchor& anchor : anchors) {
    twin.put_query(0, query(7, 2, anchor));
    twin.tick(0);
    twin.compare_current_lists();
    EXPECT_EQ(twin.has_list(0, 7), anchor.kind != AnchorKind::every_object);
    EXPECT_EQ(twin.has_list(0, 7, ann), anchor.kind == AnchorKind::every_object);
  }
}

TEST_P(Conformance, AQueryLeavesAtTheFirstTickBeyondItsLease) {
  Twin twin(engine(), {});
  twin.put_stream(stream("s"));
  QueryDefinition leased = query(7, 1, fixed_at(0));
  leased.lease_end_us = 10;
  twin.put_query(0, leased);
  twin.tick(10);
  EXPECT_TRUE(twin.has_list(0, 7));
  leased.lease_end_us = 20;
  twin.put_query(0, leased);
  twin.tick(20);
  EXPECT_TRUE(twin.has_list(0, 7)) << "the lease was renewed";
  EXPECT_EQ(only_event(twin.tick(21)), ListEvent::removed);
  EXPECT_FALSE(twin.has_list(0, 7));
}

TEST_P(Conformance, ExpiryAndAgeLimitsActWithoutAnyUpdate) {
  TwinOptions options;
  options.oracle.object_ttl_us = 100;
  Twin twin(engine(), options);
  twin.put_stream(stream("s"));
  twin.put_query(0, query(1, 2, fixed_at(0), no_older_than(50)));
  twin.put_query(0, query(2, 2, fixed_at(0)));
  twin.update(fix(ann, 0, 1));
  twin.tick(50);
  EXPECT_THAT(twin.list(0, 1), ElementsAre(at(ann, 1)));
  twin.tick(51);
  EXPECT_THAT(twin.list(0, 1), IsEmpty());
  EXPECT_THAT(twin.list(0, 2), ElementsAre(at(ann, 1)));
  twin.tick(100);
  EXPECT_THAT(twin.list(0, 2), ElementsAre(at(ann, 1)));
  twin.tick(101);
  EXPECT_THAT(twin.list(0, 2), IsEmpty());
}

TEST_P(Conformance, AnObjectGoneAndBackBetweenTicksIsNoChange) {
  Twin twin(engine(), {});
  twin.put_stream(stream("s", ReportOn::distance));
  twin.put_query(0, query(1, 2, fixed_at(0)));
  twin.put_query(0, query(2, 2, follow(ann)));
  twin.put_query(0, query(3, 2, every_object()));
  twin.update(fix(ann, 0, 1));
  twin.update(fix(bob, 0, 2));
  twin.tick(0);
  twin.remove(ann, 1);
  twin.update(fix(ann, 1, 1));
  EXPECT_THAT(streams_heard(twin.tick(1)), IsEmpty());
}

TEST_P(Conformance, StatesAreOfTheTicksSnapshot) {
  Twin twin(engine(), {});
  twin.put_stream(stream("s", ReportOn::order, {.position = true, .tags = true}));
  twin.put_query(0, query(7, 2, fixed_at(0)));
  twin.put_query(0, query(8, 2, every_object()));
  twin.update(tagged(fix(ann, 0, 1, 2), 0b101));
  twin.update(fix(bob, 0, 3, 4));
  const OracleTick heard = twin.tick(0);
  const ListKey fixed{0, QueryId{7}, std::nullopt};
  EXPECT_THAT(heard.reports.at(fixed).states,
              ElementsAre(NeighborState{{1, 2, 0}, 0b101}, NeighborState{{3, 4, 0}, 0}));
}

}  // namespace
}  // namespace starling::test
