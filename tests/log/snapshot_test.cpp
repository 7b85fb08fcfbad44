// SPDX-License-Identifier: Apache-2.0
// Tests snapshots of a log. A written snapshot can be read, an incomplete one is never taken for a
// whole one, and power loss leaves the old files or the new one.
#include "starling/log/snapshot.hpp"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/log/recovery.hpp"
#include "starling/log/writer.hpp"
#include "tests/log/support/model.hpp"
#include "tests/log/support/simulated_files.hpp"

namespace starling::log {
namespace {

using Texts = std::vector<std::string>;

/// A log of 12 groups in several segments.
class LogToSum : public testing::Test {
 protected:
  LogToSum() : writer_(files_, NewLog{.id = test_id(), .user = {}}, test_options(512)) {
    for (int i = 0; i < 12; ++i) commit(writer_, {{1, 0, std::string(200, 'a')}});
  }

  SnapshotInfo write_snapshot(std::uint64_t next_sequence, const Texts& texts) {
    SnapshotWriter snapshot(files_, *newest_header(files_), next_sequence, 77);
    for (const std::string& text : texts)
      snapshot.append(RecordType{5}, 3, std::as_bytes(std::span(text)));
    return snapshot.finish();
  }

  Texts read() {
    Texts texts;
    read_snapshot(files_, *newest_snapshot(files_), [&](const Record& record) {
      EXPECT_EQ(record.type, RecordType{5});
      EXPECT_EQ(record.version, 3);
      const auto payload = record.payload;
      texts.emplace_back(reinterpret_cast<const char*>(payload.data()), payload.size());
      return true;
    });
    return texts;
  }

  SimulatedFiles files_;
  Writer writer_;
};

TEST_F(LogToSum, IsReadAsItWasWritten) {
  EXPECT_FALSE(newest_snapshot(files_));
  const Texts texts{"one", "", std::string(5'000'000, 'x'), "three"};
  const SnapshotInfo made = write_snapshot(8, texts);
  EXPECT_EQ(read(), texts);
  EXPECT_EQ(made.next_sequence, 8U);
  const auto found = newest_snapshot(files_);
  EXPECT_EQ(found->file, made.file);
  EXPECT_EQ(found->bytes, made.bytes);
  EXPECT_EQ(found->created_us, 77);
  EXPECT_EQ(segment_names(files_).front(), segment_name(1)) << "a snapshot is no segment";
}

TEST_F(LogToSum, IsOnlyWholeWithAllItsBytes) {
  const SnapshotInfo made = write_snapshot(8, {"one", "two"});
  const std::vector<std::byte> whole = files_.bytes_of(made.file);
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 4) {
    files_.put(made.file, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)});
    EXPECT_THROW(read(), DamagedLog) << bytes << " bytes are left";
  }
  for (std::size_t place = 0; place < whole.size(); ++place) {
    auto damaged = whole;
    damaged[place] ^= std::byte{16};
    files_.put(made.file, damaged);
    EXPECT_ANY_THROW(read()) << "byte " << place << " is changed";
  }
}

TEST_F(LogToSum, AnOlderOneAndWhatItStandsForAreRemoved) {
  write_snapshot(3, {"old"});
  const SnapshotInfo newest = write_snapshot(9, {"new"});
  EXPECT_GT(drop_before(files_, newest), 2U);
  EXPECT_EQ(snapshot_names(files_), Texts{newest.file});
  std::uint64_t first = 0;
  read_log(files_,
           [&](const Group& group) {
             if (first == 0) first = group.records.front().sequence;
           },
           {.from = newest.next_sequence});
  EXPECT_EQ(first, 9U);
}

TEST_F(LogToSum, AnUnfinishedOneIsRemovedByRecovery) {
  {
    SnapshotWriter snapshot(files_, *newest_header(files_), 4, 0);
    EXPECT_THAT(files_.list(), testing::Contains(std::string(unfinished_snapshot_name)));
  }
  EXPECT_THAT(files_.list(),
              testing::Not(testing::Contains(std::string(unfinished_snapshot_name))));
  files_.put(std::string(unfinished_snapshot_name), {});
  recover_log(files_, [](const Group&) {});
  EXPECT_THAT(files_.list(),
              testing::Not(testing::Contains(std::string(unfinished_snapshot_name))));
}

TEST_F(LogToSum, BelongsToItsLogAndTheLogReachesItsEnd) {
  const SnapshotInfo made = write_snapshot(9, {"new"});
  const GroupHandler ignore = [](const Group&) {};
  EXPECT_NO_THROW(read_log(files_, ignore, range_behind(made)));
  LogRange of_another = range_behind(made);
  (*of_another.id)[3] ^= 1;
  EXPECT_THROW(read_log(files_, ignore, of_another), DamagedLog);
  for (const std::string& name : segment_names(files_))
    if (*sequence_of_name(name) > 5) files_.remove(name);
  EXPECT_THROW(read_log(files_, ignore, range_behind(made)), DamagedLog);
  EXPECT_EQ(check_log(files_, range_behind(made)).damage.size(), 1U);
}

TEST_F(LogToSum, IsNotWrittenWithARecordThatIsTooLong) {
  SnapshotWriter snapshot(files_, *newest_header(files_), 4, 0);
  EXPECT_THROW(
      snapshot.append(RecordType{5}, 1, std::vector<std::byte>(snapshot_payload_bytes_max + 1)),
      std::length_error);
}

TEST(ReaderBesideAWriter, FindsNoDamageInWhatIsWrittenMeanwhile) {
  SimulatedFiles files;
  Writer writer(files, NewLog{.id = test_id(), .user = {}}, test_options(1 << 20));
  commit(writer, {{1, 0, "first"}});
  std::uint64_t groups = 0;
  read_log(files, [&](const Group&) {
    if (++groups <= 50)
      for (int i = 0; i < 3; ++i) commit(writer, {{1, 0, std::string(100, 'b')}});
  });
  EXPECT_EQ(groups, 151U);
}

TEST(ReaderBesideAWriter, FindsNoDamageWhereGroupsAreWrittenBetweenTwoOfItsReads) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    SimulatedFiles files;
    Writer writer(files, NewLog{.id = test_id(), .user = {}}, test_options(1 << 16));
    commit(writer, {{1, 0, "before"}});
    std::uint64_t written = 1;
    files.on_read = [&] {
      if (random() % 2 == 0 || written > 50) return;
      for (int i = 0; i < 2; ++i, ++written) commit(writer, {{1, 0, "beside"}});
    };
    std::uint64_t groups = 0;
    read_log(files, [&](const Group&) { ++groups; });
    EXPECT_GE(groups, 1U);
    EXPECT_LE(groups, written);
  }
}

TEST(SnapshotPowerCut, LeavesTheOldFilesOrTheNewOne) {
  int kept_new = 0;
  constexpr int cuts = 300;
  for (std::uint64_t seed = 0; seed < cuts; ++seed) {
    std::mt19937_64 random(seed);
    SimulatedFiles files;
    {
      Writer writer(files, NewLog{.id = test_id(), .user = {}}, test_options(512));
      for (int i = 0; i < 12; ++i) commit(writer, {{1, 0, std::string(200, 'a')}});
    }
    const auto header = *newest_header(files);
    SnapshotInfo old;
    {
      SnapshotWriter snapshot(files, header, 3, 0);
      old = snapshot.finish();
      drop_before(files, old);
    }
    // Power goes at a random step of the next snapshot: at a sync, or when the names change.
    const std::uint64_t last_sync = random() % 6;
    std::uint64_t syncs = 0;
    struct PowerIsOff {};
    files.on_sync = [&] {
      if (syncs++ == last_sync) throw PowerIsOff();
    };
    try {
      SnapshotWriter snapshot(files, header, 10, 0);
      for (int i = 0; i < 4; ++i)
        snapshot.append(RecordType{5}, 1, std::vector<std::byte>(3 << 20, std::byte{7}));
      const SnapshotInfo made = snapshot.finish();
      if (random() % 2 == 0) drop_before(files, made);
    } catch (const PowerIsOff&) {
    }
    files.on_sync = {};
    files.cut_power(random);
    const auto newest = newest_snapshot(files);
    ASSERT_TRUE(newest);
    if (newest->file != old.file) ++kept_new;
    EXPECT_NO_THROW(read_snapshot(files, *newest, [](const Record&) { return true; }));
    for (const SnapshotInfo& each : snapshots(files))
      EXPECT_NO_THROW(read_log(
          files, [](const Group&) {}, range_behind(each)))
          << "the records behind " << each.file << " are missing";
    std::uint64_t last = 0;
    recover_log(
        files, [&](const Group& group) { last = group.records.back().sequence; },
        range_behind(newest));
    EXPECT_EQ(last, 12U);
  }
  EXPECT_GT(kept_new, cuts / 10);
  EXPECT_LT(kept_new, cuts * 9 / 10);
}

}  // namespace
}  // namespace starling::log
