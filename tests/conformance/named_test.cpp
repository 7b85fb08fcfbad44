// SPDX-License-Identifier: Apache-2.0
// Tests situations that k-NN products often get wrong. Each is small enough to check by hand, and
// its expected lists were computed on paper. The Twin also compares the same ticks with the oracle.
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
constexpr std::uint64_t q = 7;
constexpr std::uint32_t occupied = 0b1;
constexpr std::uint32_t rider = 0b10;

/// A Twin with one stream that reports every change. So its subscriber always holds the exact
/// lists.
class Scene : public Twin {
 public:
  explicit Scene(const EngineChoice& engine, const TwinOptions& options = {})
      : Twin(engine, options) {
    put_stream(stream("all", ReportOn::distance));
  }
  void ask(std::uint32_t k, const Anchor& anchor, const Filter& filter = {}) {
    put_query(0, query(q, k, anchor, filter));
  }
  List list() const { return Twin::list(0, q); }
  List list_of(ObjectId subject) const { return Twin::list(0, q, subject); }
  bool has_list_of(ObjectId subject) const { return has_list(0, q, subject); }

  LatticePoint geographic(double longitude, double latitude) {
    LatticePoint point;
    EXPECT_EQ(processor().lattice().to_lattice({longitude, latitude, 0}, point),
              PositionError::none);
    return point;
  }
};

TwinOptions on_the_globe() {
  TwinOptions options;
  options.space = Space::wgs84;
  return options;
}

TwinOptions objects_live_for(std::int64_t ttl_us) {
  TwinOptions options;
  options.oracle.object_ttl_us = ttl_us;
  return options;
}

TwinOptions tombstones_stay_for(std::int64_t ttl_us) {
  TwinOptions options;
  options.oracle.tombstone_ttl_us = ttl_us;
  return options;
}

TEST_P(Conformance, NeighboursAreFoundAcrossTheAntimeridian) {
  Scene scene(engine(), on_the_globe());
  scene.update(fix(ann, 0, scene.geographic(179.9999, 0)));
  scene.update(fix(bob, 0, scene.geographic(-179.9999, 0)));
  scene.update(fix(cat, 0, scene.geographic(179.9, 0)));
  scene.ask(1, follow(ann));
  scene.tick(0);
  // ann and bob are on either side of 180 degrees, 0.0001 degrees from it. On the equator, 0.0001
  // degrees are 11.13 m.
  EXPECT_THAT(scene.list(), ElementsAre(at(bob, 2226 * 2226)));
}

TEST_P(Conformance, NeighboursAreFoundAcrossThePoles) {
  for (const double pole : {90.0, -90.0}) {
    Scene scene(engine(), on_the_globe());
    scene.update(fix(ann, 0, scene.geographic(0, pole * 89.9999 / 90)));
    scene.update(fix(bob, 0, scene.geographic(180, pole * 89.9999 / 90)));
    scene.update(fix(cat, 0, scene.geographic(0, pole * 89.99 / 90)));
    scene.ask(1, follow(ann));
    scene.tick(0);
    // ann and bob are on either side of the pole, 0.0001 degrees from it. Here, 0.0001 degrees of a
    // meridian are 11.17 m.
    EXPECT_THAT(scene.list(), ElementsAre(at(bob, 2234 * 2234)));
  }
}

TEST_P(Conformance, AtAPoleEveryLongitudeIsTheSamePlace) {
  Scene scene(engine(), on_the_globe());
  scene.update(fix(ann, 0, scene.geographic(0, 90)));
  scene.update(fix(bob, 0, scene.geographic(137, 90)));
  scene.update(fix(cat, 0, scene.geographic(-180, 90)));
  scene.ask(5, follow(bob));
  scene.tick(0);
  EXPECT_THAT(scene.list(), ElementsAre(at(ann, 0), at(cat, 0)));
}

TEST_P(Conformance, CoincidentObjectsAreAllNeighboursAtDistanceZero) {
  Scene scene(engine());
  for (const ObjectId id : {cat, ann, bob}) scene.update(fix(id, 0, 5, 5));
  scene.ask(2, every_object());
  scene.tick(0);
  EXPECT_THAT(scene.list_of(ann), ElementsAre(at(bob, 0), at(cat, 0)));
  EXPECT_THAT(scene.list_of(bob), ElementsAre(at(ann, 0), at(cat, 0)));
  EXPECT_THAT(scene.list_of(cat), ElementsAre(at(ann, 0), at(bob, 0)));
}

TEST_P(Conformance, TiesAreBrokenByTheSmallerObjectId) {
  Scene scene(engine());
  const ObjectId largest{~std::uint64_t{0}};
  scene.update(fix(largest, 0, 3, 4));
  scene.update(fix(cat, 0, -5, 0));
  scene.update(fix(ann, 0, 0, 5));
  scene.update(fix(bob, 0, 4, -3));
  scene.ask(3, fixed_at(0, 0));
  scene.tick(0);
  EXPECT_THAT(scene.list(), ElementsAre(at(ann, 25), at(bob, 25), at(cat, 25)));
  scene.ask(4, fixed_at(0, 0));
  scene.tick(0);
  EXPECT_THAT(scene.list(), ElementsAre(at(ann, 25), at(bob, 25), at(cat, 25), at(largest, 25)));
}

TEST_P(Conformance, AFollowQueryIsEmptyWhileItsObjectIsExpiredAndResumesWithIt) {
  Scene scene(engine(), objects_live_for(100));
  scene.ask(2, follow(ann));
  scene.update(fix(ann, 0, 0));
  scene.update(fix(bob, 90, 3));
  scene.tick(100);
  EXPECT_THAT(scene.list(), ElementsAre(at(bob, 9)));
  scene.tick(101);
  EXPECT_THAT(scene.list(), IsEmpty());
  scene.update(fix(ann, 110, 1));
  scene.tick(120);
  EXPECT_THAT(scene.list(), ElementsAre(at(bob, 4)));
}

TEST_P(Conformance, AFollowQueryIsEmptyWhileItsObjectIsRemovedAndResumesWithIt) {
  Scene scene(engine());
  scene.ask(2, follow(ann));
  scene.update(fix(bob, 0, 3));
  scene.tick(1);
  EXPECT_THAT(scene.list(), IsEmpty()) << "the object is not there yet";
  scene.update(fix(ann, 1, 0));
  scene.tick(2);
  EXPECT_THAT(scene.list(), ElementsAre(at(bob, 9)));
  scene.remove(ann, 2);
  scene.tick(3);
  EXPECT_THAT(scene.list(), IsEmpty());
  scene.update(fix(ann, 3, 1));
  scene.tick(4);
  EXPECT_THAT(scene.list(), ElementsAre(at(bob, 4)));
}

TEST_P(Conformance, ALateFixAfterARemovalDoesNotResurrect) {
  Scene scene(engine());
  scene.ask(2, fixed_at(0));
  scene.update(fix(ann, 10, 1));
  EXPECT_EQ(scene.remove(ann, 20), UpdateStatus::accepted);
  EXPECT_EQ(scene.update(fix(ann, 19, 1)), UpdateStatus::late);
  scene.tick(20);
  EXPECT_EQ(scene.update(fix(ann, 19, 1)), UpdateStatus::late);
  scene.tick(21);
  EXPECT_THAT(scene.list(), IsEmpty());
  EXPECT_EQ(scene.update(fix(ann, 20, 1)), UpdateStatus::accepted) << "equal times: later wins";
  scene.tick(22);
  EXPECT_THAT(scene.list(), ElementsAre(at(ann, 1)));
}

TEST_P(Conformance, ARemovalThatArrivesBeforeItsObjectHoldsBackOlderFixes) {
  Scene scene(engine());
  scene.ask(2, fixed_at(0));
  EXPECT_EQ(scene.remove(ann, 20), UpdateStatus::accepted);
  EXPECT_EQ(scene.update(fix(ann, 19, 1)), UpdateStatus::late);
  scene.tick(20);
  EXPECT_THAT(scene.list(), IsEmpty());
}

TEST_P(Conformance, OccupiedIsNotLostToANewerFix) {
  Scene scene(engine());
  scene.ask(2, fixed_at(0), with_tags(0, occupied));
  scene.update(tagged(fix(ann, 10, 1), 0));
  scene.tick(10);
  EXPECT_THAT(scene.list(), ElementsAre(at(ann, 1)));
  EXPECT_EQ(scene.update_tags({ann, 5, occupied, 0}), UpdateStatus::accepted)
      << "older than the position, but tags have their own clock";
  scene.update(tagged(fix(ann, 12, 2), 0));
  scene.tick(12);
  EXPECT_THAT(scene.list(), IsEmpty())
      << "and an update does not change a bit that tag updates own";
  EXPECT_EQ(scene.update_tags({ann, 4, 0, occupied}), UpdateStatus::late);
  EXPECT_EQ(scene.update_tags({ann, 6, 0, occupied}), UpdateStatus::accepted);
  scene.tick(13);
  EXPECT_THAT(scene.list(), ElementsAre(at(ann, 4)));
}

TEST_P(Conformance, OnlySubjectsThatPassTheSubjectFilterHaveLists) {
  Scene scene(engine());
  QueryDefinition riders_to_drivers = query(q, 1, every_object(), with_tags(0, rider));
  riders_to_drivers.subject = {rider, 0};
  scene.put_query(0, riders_to_drivers);
  scene.update(tagged(fix(ann, 0, 0), rider));
  scene.update(tagged(fix(bob, 0, 1), rider));
  scene.update(tagged(fix(cat, 0, 3), 0));
  scene.tick(0);
  EXPECT_THAT(scene.list_of(ann), ElementsAre(at(cat, 9)));
  EXPECT_THAT(scene.list_of(bob), ElementsAre(at(cat, 4)));
  EXPECT_FALSE(scene.has_list_of(cat));

  scene.update_tags({bob, 1, 0, rider});
  scene.tick(1);
  EXPECT_THAT(scene.list_of(ann), ElementsAre(at(bob, 1)));
  EXPECT_FALSE(scene.has_list_of(bob)) << "no longer a rider: the list's removal was reported";

  scene.update_tags({bob, 2, rider, 0});
  scene.tick(2);
  EXPECT_THAT(scene.list_of(bob), ElementsAre(at(cat, 4)));
}

TEST_P(Conformance, AFilterThatForbidsWhatItRequiresPassesNothing) {
  Scene scene(engine());
  scene.ask(2, fixed_at(0), with_tags(occupied, occupied));
  scene.update(tagged(fix(ann, 0, 1), occupied));
  scene.update(tagged(fix(bob, 0, 2), 0));
  scene.tick(0);
  EXPECT_THAT(scene.list(), IsEmpty());
}

TEST_P(Conformance, TagsOlderThanARemovalAreLate) {
  Scene scene(engine());
  scene.ask(2, fixed_at(0), with_tags(occupied, 0));
  scene.update(fix(ann, 0, 1));
  scene.remove(ann, 20);
  EXPECT_EQ(scene.update_tags({ann, 19, occupied, 0}), UpdateStatus::late);
  scene.update(fix(ann, 21, 1));
  scene.tick(21);
  EXPECT_THAT(scene.list(), IsEmpty());
}

TEST_P(Conformance, FewerObjectsThanKGiveAShorterList) {
  Scene scene(engine());
  scene.ask(1024, fixed_at(0));
  scene.tick(0);
  EXPECT_THAT(scene.list(), IsEmpty());
  scene.update(fix(bob, 0, 2));
  scene.update(fix(ann, 0, 1));
  scene.tick(1);
  EXPECT_THAT(scene.list(), ElementsAre(at(ann, 1), at(bob, 4)));
  scene.ask(1024, follow(ann));
  scene.tick(2);
  EXPECT_THAT(scene.list(), ElementsAre(at(bob, 1)));
}

TEST_P(Conformance, AReusedSlotIsNotTakenForItsFormerOwner) {
  Scene scene(engine(), tombstones_stay_for(5));
  scene.ask(2, every_object());
  scene.update(fix(ann, 0, 0));
  scene.update(fix(bob, 0, 3));
  scene.tick(0);
  const Slot slot_of_bob = scene.processor().find_object(bob);
  scene.remove(bob, 1);
  scene.tick(10);
  scene.tick(20);
  EXPECT_EQ(scene.processor().find_object(bob), no_slot) << "forgotten";

  scene.update(fix(cat, 20, 3));
  EXPECT_EQ(scene.processor().find_object(cat), slot_of_bob) << "the slot is used again";
  const OracleTick reported = scene.tick(21);
  EXPECT_EQ(reported.reports.size(), 2u) << "ann's changed list and cat's first";
  EXPECT_THAT(scene.list_of(ann), ElementsAre(at(cat, 9)));
  EXPECT_THAT(scene.list_of(cat), ElementsAre(at(ann, 9)));
  EXPECT_FALSE(scene.has_list_of(bob));
}

TEST_P(Conformance, AFollowedIdKeepsItsPlaceWhileForgotten) {
  Scene scene(engine(), tombstones_stay_for(5));
  scene.ask(2, follow(bob));
  scene.update(fix(bob, 0, 0));
  scene.update(fix(ann, 0, 2));
  scene.tick(0);
  scene.remove(bob, 1);
  for (const std::int64_t tau_us : {10, 20, 30}) scene.tick(tau_us);
  scene.update(fix(cat, 30, 5));
  scene.tick(40);
  EXPECT_THAT(scene.list(), IsEmpty()) << "another object is not the followed one";
  EXPECT_EQ(scene.update(fix(bob, 0, 1)), UpdateStatus::accepted) << "its removal is forgotten";
  scene.tick(50);
  EXPECT_THAT(scene.list(), ElementsAre(at(ann, 1), at(cat, 16)));
}

TEST_P(Conformance, AFollowQueryMayLeaveAfterItsObject) {
  Scene scene(engine(), tombstones_stay_for(5));
  scene.ask(2, follow(bob));
  scene.update(fix(bob, 0, 0));
  scene.tick(0);
  scene.remove(bob, 1);
  scene.tick(1);
  scene.remove_query(0, QueryId{q});
  for (const std::int64_t tau_us : {10, 20, 30}) scene.tick(tau_us);
  EXPECT_EQ(scene.processor().find_object(bob), no_slot);
}

}  // namespace
}  // namespace starling::test
