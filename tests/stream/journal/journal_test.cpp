// SPDX-License-Identifier: Apache-2.0
// Tests how a server's log begins, what waits for its commits, when it refuses changes, and when
// its snapshots are due.
#include "starling/stream/journal/journal.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>

#include "tests/stream/support/log_world.hpp"

namespace starling::stream {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Appends the record of a request that changed nothing, with `bytes` bytes of reply.
void append_request(Journal& journal, std::size_t bytes = 0) {
  const std::vector<std::byte> reply(bytes);
  journal.append(RequestNote{.session = 1, .sequence = 1, .body_hash = 2, .reply = reply}, {});
}

log::SnapshotInfo made_of(std::uint64_t bytes) {
  log::SnapshotInfo made;
  made.bytes = bytes;
  return made;
}

/// What was not synced may be lost, and the journal reports that it could not write.
void cut_power(LogWorld& world) {
  world.disk.cut();
  world.journal.reset();
  world.disk.restore();
  try {
    world.executor.run();
  } catch (const std::runtime_error&) {
  }
}

template <class Record>
std::vector<Record> records_of(const LogWorld& world) {
  std::vector<Record> found;
  for (const JournalRecord& record : world.recovered)
    if (const auto* const one = std::get_if<Record>(&record)) found.push_back(*one);
  return found;
}

TEST(Journal, ANewLogBeginsWithItsEpochAndItsRun) {
  LogWorld world;
  const Journal& journal = world.start();
  const std::uint64_t epoch = journal.found().epoch();
  const auto runs = journal.found().runs();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].begun, 2u) << "the record of the epoch comes first";
  world.commit_all();
  world.start();
  EXPECT_FALSE(world.journal->found().is_epoch_new());
  EXPECT_EQ(world.journal->found().epoch(), epoch);
  ASSERT_EQ(records_of<EpochRecord>(world).size(), 1u);
  EXPECT_EQ(records_of<EpochRecord>(world)[0].epoch, epoch);
}

TEST(Journal, AnEpochIsOnTheDiskBeforeAnyClientCanBeToldOfIt) {
  LogWorld world;
  const std::uint64_t epoch = world.start().found().epoch();
  cut_power(world);
  EXPECT_EQ(world.start().found().epoch(), epoch) << "nothing was committed since the start";
}

TEST(Journal, ALogWhoseFirstStartWasCutIsNoCopy) {
  for (std::uint64_t sync = 1; sync <= 8; ++sync) {
    LogWorld world;
    world.disk.files.fail_sync(sync);
    try {
      world.start();
    } catch (const std::runtime_error&) {  // the call to the disk failed
    }
    cut_power(world);
    world.start();
    const std::uint64_t epoch = world.journal->found().epoch();
    world.journal->commits().commit_now();
    while (world.commits->due_in_us() == 0) world.commits->step();
    cut_power(world);  // the run is on the disk, and nothing that waited for it has run
    EXPECT_FALSE(world.start().found().is_copy()) << "sync " << sync;
    EXPECT_EQ(world.journal->found().epoch(), epoch) << "sync " << sync;
  }
}

TEST(Journal, EachStartAddsARunBeforeTheOthers) {
  LogWorld world;
  const protocol::Run first = world.start().found().runs()[0];
  world.commit_all();
  const auto runs = world.start().found().runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1], first);
  EXPECT_GT(runs[0].begun, first.begun);
}

TEST(Journal, ALogThatWasPutBackFromACopyGetsANewEpoch) {
  LogWorld world;
  const std::uint64_t epoch = world.start().found().epoch();
  world.commit_all();
  world.journal.reset();
  const auto copy = world.disk.files.image();
  world.disk.files.put_back(copy, true);
  EXPECT_NE(world.start().found().epoch(), epoch);
  EXPECT_TRUE(world.journal->found().is_copy());
  const std::uint64_t second = world.journal->found().epoch();
  world.commit_all();
  EXPECT_EQ(world.start().found().epoch(), second) << "it is a copy no more";
}

TEST(Journal, ALogThatWasWrittenWithOtherOptionsIsNotRead) {
  LogWorld world;
  world.start();
  world.commit_all();
  const std::string other = to_text(KeptOptions{.space = {}, .object_ttl_us = 7});
  try {
    world.start(other);
    FAIL() << "the log was read";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("was written with other options: --object-ttl"));
    EXPECT_THAT(error.what(), HasSubstr("start with the old ones, or with another folder"));
  }
}

TEST(Journal, APrincipalIsRecordedOnceInARun) {
  LogWorld world;
  Journal& journal = world.start();
  journal.know(3, "fleet");
  journal.know(3, "fleet");
  journal.know(4, "port");
  world.commit_all();
  world.start().know(3, "fleet");
  world.commit_all();
  EXPECT_EQ(records_of<PrincipalRecord>(world).size(), 2u);
  world.start();
  EXPECT_EQ(records_of<PrincipalRecord>(world).size(), 3u);
}

TEST(Journal, WhatWaitsRunsWhenItsRecordsAreOnTheDiskInTheOrderOfPlaces) {
  LogWorld world;
  Journal& journal = world.start();
  world.commit_all();
  std::vector<int> ran;
  append_request(journal);
  const std::uint64_t first = journal.end();
  append_request(journal);
  journal.commits().when_durable(journal.end(), [&] { ran.push_back(2); });
  journal.commits().when_durable(first, [&] { ran.push_back(1); });
  EXPECT_TRUE(ran.empty());
  EXPECT_FALSE(journal.commits().is_settled());
  world.commit_all();
  EXPECT_THAT(ran, ElementsAre(1, 2));
  EXPECT_TRUE(journal.commits().is_settled());
  journal.commits().when_durable(first, [&] { ran.push_back(3); });
  EXPECT_THAT(ran, ElementsAre(1, 2, 3)) << "what waits for nothing runs at once";
}

TEST(Journal, TheMarkOfATickAsksForACommitAndARequestDoesNot) {
  LogWorld world;
  Journal& journal = world.start();
  world.commit_all();
  append_request(journal);
  world.commit();
  EXPECT_FALSE(journal.commits().is_durable(journal.end()));
  journal.append(TickBegunRecord{.tick = Tick{1}, .tau_us = 5});
  world.commit();
  EXPECT_TRUE(journal.commits().is_durable(journal.end()));
}

TEST(Journal, AFullDiskRefusesChangesUntilACommitSucceeds) {
  LogWorld world;
  Journal& journal = world.start();
  world.commit_all();
  int told = 0;
  journal.commits().watch([&] { ++told; });
  world.disk.files.set_space(0);
  for (int request = 0; request < 8; ++request) append_request(journal, 1000);
  world.commit_all();
  EXPECT_TRUE(journal.commits().is_full());
  EXPECT_GE(told, 1);
  EXPECT_THAT(journal.commits().refusal().value(), HasSubstr("simulated, is full"));
  EXPECT_EQ(journal.commits().refusal_of_session(), journal.commits().refusal());
  EXPECT_FALSE(journal.commits().is_behind()) << "a full disk refuses, and nothing waits for it";
  world.executor.advance(200'000);
  EXPECT_EQ(journal.commits().full_us(), 200'000);
  EXPECT_EQ(journal.counts().full_us, 200'000);
  world.disk.files.set_space(UINT64_MAX);
  world.commit_all();
  EXPECT_FALSE(journal.commits().is_full());
  EXPECT_EQ(journal.commits().refusal(), std::nullopt);
  EXPECT_EQ(journal.commits().full_us(), std::nullopt);
  EXPECT_TRUE(journal.commits().is_durable(journal.end()));
}

TEST(Journal, AFailedSyncEndsTheLoopAndWhatWaitsForItNeverRuns) {
  LogWorld world;
  Journal& journal = world.start();
  world.commit_all();
  world.disk.files.fail_sync(world.disk.files.syncs() + 1);
  append_request(journal);
  bool ran = false;
  journal.commits().when_durable(journal.end(), [&] { ran = true; });
  try {
    world.commit_all();
    FAIL() << "the loop went on";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the log in simulated cannot be written"));
    EXPECT_THAT(error.what(), HasSubstr("what it has not acknowledged may be lost"));
  }
  EXPECT_TRUE(journal.commits().has_failed());
  EXPECT_FALSE(ran);
  EXPECT_THROW(journal.commits().stop(), std::runtime_error);
}

/// Starts a journal whose segments have room for all that a test appends.
Journal& start_in_one_segment(LogWorld& world) {
  world.options.segment_bytes = 256u << 20;
  Journal& journal = world.start();
  world.commit_all();
  return journal;
}

TEST(Journal, IsBehindWhileTooMuchWaitsForTheDisk) {
  LogWorld world;
  Journal& journal = start_in_one_segment(world);
  append_request(journal, 33u << 20);
  EXPECT_TRUE(journal.commits().is_behind());
  EXPECT_EQ(journal.commits().refusal_of_session(), std::nullopt);
  append_request(journal, 24u << 20);
  EXPECT_THAT(journal.commits().refusal_of_session().value(), HasSubstr("waits for its disk"));
  EXPECT_EQ(journal.commits().refusal(), std::nullopt) << "a change waits instead";
  world.commit_all();
  EXPECT_FALSE(journal.commits().is_behind());
}

TEST(Journal, IsBehindWhileManyBytesWaitForASlowDisk) {
  LogWorld world;
  Journal& journal = start_in_one_segment(world);
  append_request(journal, 5u << 20);
  EXPECT_FALSE(journal.commits().is_behind()) << "the commit may be a fast one";
  world.executor.advance(21'000);
  EXPECT_TRUE(journal.commits().is_behind());
  world.commit_all();
  EXPECT_FALSE(journal.commits().is_behind());
  append_request(journal, 3u << 20);
  world.executor.advance(100'000);
  EXPECT_FALSE(journal.commits().is_behind()) << "what waits is soon written";
}

TEST(AnswerPlaces, MessagesWaitForTheMarkOfTheirTickAndForLaterChangesOfStreams) {
  AnswerPlaces places;
  places.tick_begun(Tick{1}, 10, 0);
  EXPECT_EQ(places.end_of_mark(Tick{1}), 10u);
  EXPECT_EQ(places.end_of_messages(Tick{1}), 10u);
  places.stream_changed(12);
  EXPECT_EQ(places.end_of_messages(Tick{1}), 12u);
  places.tick_finished(false, 13);
  EXPECT_EQ(places.of_messages(), 12u);
}

TEST(AnswerPlaces, MessagesWaitForTheEndOfAFailedTick) {
  AnswerPlaces places;
  places.tick_begun(Tick{1}, 10, 0);
  places.tick_finished(true, 11);
  places.tick_begun(Tick{2}, 12, 0);
  EXPECT_EQ(places.end_of_messages(Tick{2}), 12u);
  EXPECT_EQ(places.end_of_messages(Tick{1}), 11u);
}

TEST(AnswerPlaces, ASnapshotWaitsForChangesOfQueriesAndForTheTickUnderWay) {
  AnswerPlaces places;
  places.tick_begun(Tick{1}, 10, 0);
  places.tick_finished(false, 11);
  places.queries_changed(15);
  EXPECT_EQ(places.end_of_snapshot(Tick{1}), 15u);
  EXPECT_EQ(places.end_of_messages(Tick{1}), 10u) << "messages do not";
  places.tick_begun(Tick{2}, 20, 0);
  EXPECT_EQ(places.end_of_snapshot(Tick{1}), 20u);
}

TEST(AnswerPlaces, KeepNoMarkThatIsOnTheDiskOnceALaterTickBegins) {
  AnswerPlaces places;
  for (std::uint64_t tick = 1; tick <= 1000; ++tick) {
    places.tick_begun(Tick{tick}, 10 * tick, 10 * tick - 5);
    places.tick_finished(false, 10 * tick + 1);
  }
  EXPECT_EQ(places.end_of_mark(Tick{999}), 0u);
  EXPECT_EQ(places.end_of_mark(Tick{1000}), 10'000u);
}

TEST(AnswerPlaces, KnowOfTicksThatWereUnderWayWhenTheLogEnded) {
  AnswerPlaces places;
  places.begin(1);
  EXPECT_TRUE(places.is_tick_under_way());
  places.tick_finished(false, 3);
  EXPECT_FALSE(places.is_tick_under_way());
}

/// A log that makes a snapshot when it has more than 2,000 bytes after the last one.
struct SnapshotWorld : LogWorld {
  SnapshotWorld() {
    options.tail_bytes_max = 2000;
    options.retry_us = 1'000'000;
    start();
    commit_all();
    journal->make_snapshots_with([this](std::uint64_t place) { places.push_back(place); });
  }
  std::vector<std::uint64_t> places;  ///< the places of the snapshots that began
};

TEST(JournalSnapshots, OneBeginsWhenItsRecordsAreOnTheDiskAndNoTickIsUnderWay) {
  SnapshotWorld world;
  Journal& journal = *world.journal;
  journal.append(TickBegunRecord{.tick = Tick{1}, .tau_us = 1});
  EXPECT_FALSE(journal.wants_pause());
  append_request(journal, 3000);
  EXPECT_TRUE(journal.wants_pause()) << "no further tick should begin";
  world.commit_all();
  EXPECT_TRUE(world.places.empty()) << "a tick is under way";
  journal.append(TickFinishedRecord{Tick{1}, ""});
  EXPECT_FALSE(journal.wants_pause());
  EXPECT_TRUE(world.places.empty()) << "the records are not on the disk";
  const std::uint64_t end = journal.end();
  append_request(journal, 3000);
  world.commit_all();
  EXPECT_THAT(world.places, ElementsAre(end)) << "one at a time";
}

TEST(JournalSnapshots, ASnapshotShortensTheTailByWhatItStandsFor) {
  SnapshotWorld world;
  Journal& journal = *world.journal;
  append_request(journal, 3000);
  const std::uint64_t bytes = journal.counts().tail_bytes;
  append_request(journal, 500);
  const std::uint64_t later = journal.counts().tail_bytes - bytes;
  world.commit_all();
  world.executor.advance(10);
  journal.snapshot_ended(made_of(700));
  EXPECT_EQ(journal.counts().tail_bytes, later);
  EXPECT_EQ(journal.counts().tail_age_us, 0);
  EXPECT_EQ(journal.counts().snapshot_bytes, 700u);
  EXPECT_EQ(journal.counts().snapshots, 1u);
}

TEST(JournalSnapshots, OneThatFailedIsTriedAgainAfterItsPause) {
  SnapshotWorld world;
  Journal& journal = *world.journal;
  append_request(journal, 3000);
  world.commit_all();
  journal.snapshot_ended(std::nullopt);
  EXPECT_EQ(journal.counts().snapshots_failed, 1u);
  append_request(journal, 3000);
  world.commit_all();
  EXPECT_EQ(world.places.size(), 1u);
  world.executor.advance(1'000'001);
  append_request(journal);
  world.commit_all();
  EXPECT_EQ(world.places.size(), 2u);
}

TEST(JournalSnapshots, OneIsDueWhenTheTailIsOldAndNotEmpty) {
  SnapshotWorld world;
  world.executor.advance(world.options.tail_age_max_us + 1);
  EXPECT_TRUE(world.journal->wants_pause());
  append_request(*world.journal);
  world.commit_all();
  EXPECT_EQ(world.places.size(), 1u);
  world.journal->snapshot_ended(made_of(700));
  EXPECT_EQ(world.journal->counts().tail_bytes, 0u);
  world.executor.advance(world.options.tail_age_max_us + 1);
  EXPECT_FALSE(world.journal->wants_pause()) << "the tail is empty";
}

TEST(JournalSnapshots, NoneIsDueWithoutAnEngineThatMakesIt) {
  LogWorld world;
  world.options.tail_bytes_max = 10;
  append_request(world.start(), 3000);
  EXPECT_FALSE(world.journal->wants_pause());
}

}  // namespace
}  // namespace starling::stream
