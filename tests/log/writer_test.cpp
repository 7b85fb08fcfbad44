// SPDX-License-Identifier: Apache-2.0
// Tests the writer: its segments, what it refuses, and what a reader then finds in the log.
#include "starling/log/writer.hpp"

#include <random>

#include <gmock/gmock.h>

#include "starling/log/recovery.hpp"
#include "tests/log/support/model.hpp"
#include "tests/log/support/simulated_files.hpp"

namespace starling::log {
namespace {

using testing::HasSubstr;

TEST(Writer, WritesWhatTheReaderGives) {
  std::mt19937_64 random(3);
  SimulatedFiles files;
  Writer writer(files, NewLog{.id = test_id(), .user = {}}, test_options(100'000));
  std::vector<ModelGroup> all;
  for (int i = 0; i < 300; ++i) {
    all.push_back(random_group(random, 9, 4000));
    commit(writer, all.back());
  }
  std::vector<ModelGroup> found;
  const LogSummary summary = read_log(files, collect(found));
  EXPECT_EQ(found, all);
  EXPECT_EQ(summary.groups, 300U);
  EXPECT_GT(summary.segments, 10U);
  EXPECT_EQ(summary.records + 1, writer.next_sequence());
  EXPECT_TRUE(check_log(files).damage.empty());
}

TEST(Writer, NumbersRecordsWithoutGaps) {
  SimulatedFiles files;
  Writer writer(files, NewLog{.id = test_id(), .user = {}}, test_options());
  for (int i = 0; i < 20; ++i) commit(writer, {{1, 0, "a"}, {1, 0, "b"}});
  std::uint64_t expected = 1;
  read_log(files, [&](const Group& group) {
    for (const Record& record : group.records) EXPECT_EQ(record.sequence, expected++);
  });
  EXPECT_EQ(expected, 41U);
}

TEST(Writer, GivesAGroupLongerThanASegmentASegmentOfItsLength) {
  SimulatedFiles files;
  Writer writer(files, NewLog{.id = test_id(), .user = {}}, test_options(256));
  const std::vector<ModelGroup> all{
      {{1, 0, std::string(5000, 'x')}}, {{1, 0, "y"}}, {{1, 0, std::string(9000, 'z')}}};
  for (const ModelGroup& group : all) commit(writer, group);
  std::vector<ModelGroup> found;
  EXPECT_EQ(read_log(files, collect(found)).segments, 3U);
  EXPECT_EQ(found, all);
}

/// Returns the lengths of all segments, oldest first.
std::vector<std::uint64_t> segment_lengths(SimulatedFiles& files) {
  std::vector<std::uint64_t> lengths;
  for (const std::string& name : segment_names(files)) lengths.push_back(files.open(name)->bytes());
  return lengths;
}

TEST(Writer, BeginsWithAShortSegmentAndDoublesTheLength) {
  SimulatedFiles files;
  const WriterOptions options{.segment_bytes = 5000, .first_segment_bytes = 1000};
  const NewLog log{.id = test_id(), .user = {}};
  const auto fill = [&](Writer& writer, std::size_t segments) {
    while (segment_names(files).size() < segments) commit(writer, {{1, 0, std::string(300, 'a')}});
  };
  {
    Writer writer(files, log, options);
    fill(writer, 3);
    EXPECT_EQ(segment_lengths(files), (std::vector<std::uint64_t>{1000, 2000, 4000}));
  }
  const LogSummary summary = recover_log(files, [](const Group&) {});
  Writer writer(files, *summary.end, options);
  fill(writer, 5);
  EXPECT_EQ(segment_lengths(files), (std::vector<std::uint64_t>{1000, 2000, 4000, 5000, 5000}))
      << "a restart goes on with the lengths";
  EXPECT_TRUE(check_log(files).damage.empty());
}

TEST(Writer, LeavesRoomOnASmallDisk) {
  SimulatedFiles files;
  Writer writer(files, NewLog{.id = test_id(), .user = {}},
                {.segment_bytes = 8000, .first_segment_bytes = 1000});
  files.set_space(6000);
  while (segment_names(files).size() < 3) commit(writer, {{1, 0, std::string(300, 'a')}});
  EXPECT_EQ(segment_lengths(files), (std::vector<std::uint64_t>{1000, 1500, 1125}));
}

TEST(Writer, TakesThePlaceOfAServersFirstSegmentFromASmallDisk) {
  SimulatedFiles files;
  files.set_space(std::uint64_t{20} << 20);
  const Writer writer(files, NewLog{.id = test_id(), .user = {}}, {});
  EXPECT_EQ(segment_lengths(files), (std::vector<std::uint64_t>{std::uint64_t{16} << 20}));
}

TEST(Writer, WritesNothingForAnEmptyGroup) {
  SimulatedFiles files;
  Writer writer(files, NewLog{.id = test_id(), .user = {}}, test_options());
  commit(writer, {});
  EXPECT_EQ(read_log(files, [](const Group&) {}).groups, 0U);
}

TEST(Writer, GoesOnWhenThereIsRoomAgain) {
  SimulatedFiles files;
  Writer writer(files, NewLog{.id = test_id(), .user = {}}, test_options(512));
  commit(writer, {{1, 0, std::string(100, 'a')}});
  const auto before = files.all_bytes();
  files.set_space(100);
  PendingGroup group(writer.next_sequence());
  append(group, {{1, 0, std::string(400, 'b')}});
  EXPECT_THROW(writer.commit(group), NoSpace);
  EXPECT_THROW(writer.commit(group), NoSpace);
  EXPECT_EQ(files.all_bytes(), before);
  EXPECT_FALSE(writer.is_dead());
  append(group, {{2, 0, "appended meanwhile"}});
  files.set_space(100'000);
  writer.commit(group);
  std::vector<ModelGroup> found;
  read_log(files, collect(found));
  EXPECT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].size(), 2U);
}

TEST(Writer, IsDeadForEverAfterAWriteOrASyncThatFailed) {
  for (const bool is_sync : {false, true}) {
    SimulatedFiles files;
    Writer writer(files, NewLog{.id = test_id(), .user = {}}, test_options());
    if (is_sync)
      files.fail_sync(files.syncs() + 1);
    else
      files.fail_write(files.writes() + 1);
    EXPECT_THROW(commit(writer, {{1, 0, "a"}}), WriterDead);
    files.fail_sync(0);
    files.fail_write(0);
    const auto writes = files.writes();
    const auto syncs = files.syncs();
    try {
      commit(writer, {{1, 0, "a"}});
      FAIL();
    } catch (const WriterDead& dead) {
      EXPECT_THAT(dead.what(), HasSubstr("Input/output error"));
      EXPECT_THAT(dead.what(), HasSubstr("start the server again"));
    }
    EXPECT_EQ(files.writes(), writes);
    EXPECT_EQ(files.syncs(), syncs);
  }
}

TEST(Writer, KeepsTheUsersHeaderInEverySegment) {
  SimulatedFiles files;
  const std::vector<std::byte> user(100, std::byte{42});
  Writer writer(files, NewLog{.id = test_id(), .user = user}, test_options(512));
  for (int i = 0; i < 10; ++i) commit(writer, {{1, 0, std::string(200, 'a')}});
  for (const std::string& name : segment_names(files))
    EXPECT_EQ(read_segment_header(*files.open(name), name).user, user);
}

TEST(DropSegments, KeepsTheSegmentThatHoldsTheSequence) {
  SimulatedFiles files;
  Writer writer(files, NewLog{.id = test_id(), .user = {}}, test_options(512));
  for (int i = 0; i < 10; ++i) commit(writer, {{1, 0, std::string(200, 'a')}});
  EXPECT_EQ(drop_segments_before(files, 1), 0U);
  drop_segments_before(files, 5);
  EXPECT_THROW(read_log(files, [](const Group&) {}), DamagedLog) << "the first records are missing";
  std::vector<std::uint64_t> read;
  const auto collect_numbers = [&](const Group& group) {
    for (const Record& record : group.records) read.push_back(record.sequence);
  };
  read_log(files, collect_numbers, {.from = 5});
  EXPECT_EQ(read.front(), 5U);
  EXPECT_EQ(read.back(), 10U);
  read.clear();
  read_log(files, collect_numbers, {.from = 6, .until = 8});
  EXPECT_EQ(read, (std::vector<std::uint64_t>{6, 7}));
  drop_segments_before(files, 1000);
  ASSERT_EQ(segment_names(files).size(), 1U);
  const std::uint64_t left = *sequence_of_name(segment_names(files).front());
  EXPECT_THROW(read_log(files, collect_numbers, {.from = left - 1}), DamagedLog);
  commit(writer, {{1, 0, "goes on"}});
  EXPECT_NO_THROW(recover_log(files, [](const Group&) {}, {.from = left}));
}

}  // namespace
}  // namespace starling::log
