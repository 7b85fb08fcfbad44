// SPDX-License-Identifier: Apache-2.0
// Tests when groups are committed, and what happens when a commit fails, on a clock of the test's
// own.
#include "starling/log/group_commit.hpp"

#include <atomic>
#include <new>
#include <random>

#include <gmock/gmock.h>

#include "tests/log/support/model.hpp"
#include "tests/log/support/simulated_files.hpp"

namespace starling::log {
namespace {

class GroupCommitTest : public testing::Test {
 protected:
  GroupCommitOptions options(CommitPolicy policy = CommitPolicy::tick) {
    return {.policy = policy, .buffer_bytes_max = 1000, .now_us = [this] { return now_us_; }};
  }
  /// Returns options() in which groups of `begin_bytes` bytes are written early.
  GroupCommitOptions early_options(std::uint64_t begin_bytes) {
    auto made = options();
    made.begin_bytes = begin_bytes;
    return made;
  }
  GroupCommitHandlers handlers() {
    return {.on_durable = [this](std::uint64_t sequence) { durable_ = sequence; },
            .on_no_space = [this](const std::string&) { ++no_space_; },
            .on_failure = [this](const std::string& sentence) { failures_.push_back(sentence); }};
  }
  static std::uint64_t put(GroupCommit& commit, const std::string& payload) {
    const auto part = bytes_of(payload);
    return commit.append(RecordType{1}, 0, std::span(&part, 1));
  }
  std::size_t groups() {
    return read_log(files_, [](const Group&) {}).groups;
  }

  SimulatedFiles files_;
  Writer writer_{files_, NewLog{.id = test_id(), .user = {}}, test_options(600)};
  std::int64_t now_us_ = 0;
  std::uint64_t durable_ = 0;
  int no_space_ = 0;
  std::vector<std::string> failures_;
};

TEST_F(GroupCommitTest, OfTickCommitsWhenTheFirstRecordHasWaitedTenMilliseconds) {
  GroupCommit commit(writer_, options(), handlers());
  EXPECT_EQ(commit.due_in_us(), -1);
  EXPECT_EQ(put(commit, "a"), 1U);
  now_us_ = 4'000;
  EXPECT_EQ(put(commit, "b"), 2U);
  EXPECT_EQ(commit.due_in_us(), 6'000);
  now_us_ = 9'999;
  EXPECT_FALSE(commit.step());
  now_us_ = 10'000;
  EXPECT_TRUE(commit.step());
  EXPECT_EQ(durable_, 3U);
  EXPECT_EQ(groups(), 1U);
  EXPECT_FALSE(commit.step());
}

TEST_F(GroupCommitTest, OfTickCommitsAtOnceWhenAsked) {
  GroupCommit commit(writer_, options(), handlers());
  commit.commit_now();
  EXPECT_EQ(commit.due_in_us(), -1) << "nothing waits";
  put(commit, "a");
  EXPECT_FALSE(commit.step());
  commit.commit_now();
  EXPECT_TRUE(commit.step());
  EXPECT_EQ(durable_, 2U);
}

TEST_F(GroupCommitTest, OfSyncCommitsWhateverWaits) {
  GroupCommit commit(writer_, options(CommitPolicy::sync), handlers());
  put(commit, "a");
  EXPECT_TRUE(commit.step());
  EXPECT_EQ(durable_, 2U);
}

TEST_F(GroupCommitTest, OfTickWritesManyBytesAtOnceAndCommitsThemLater) {
  GroupCommit commit(writer_, early_options(200), handlers());
  const auto writes = files_.writes();
  const auto syncs = files_.syncs();
  put(commit, std::string(50, 'a'));
  EXPECT_FALSE(commit.step());
  now_us_ = 3'000;
  put(commit, std::string(50, 'b'));
  EXPECT_TRUE(commit.step());
  EXPECT_EQ(files_.writes(), writes + 1);
  EXPECT_EQ(files_.syncs(), syncs);
  EXPECT_EQ(durable_, 0U);
  EXPECT_EQ(groups(), 0U) << "a group without its commit does not count";
  EXPECT_EQ(commit.due_in_us(), 7'000) << "ten milliseconds after the first record";
  put(commit, "c");
  EXPECT_EQ(commit.due_in_us(), 7'000);
  commit.commit_now();
  EXPECT_TRUE(commit.step());
  EXPECT_EQ(durable_, 4U);
  EXPECT_EQ(groups(), 1U);
  EXPECT_EQ(commit.due_in_us(), -1);
}

TEST_F(GroupCommitTest, EndsAGroupThatIsWrittenWithItsSegment) {
  GroupCommit commit(writer_, early_options(200), handlers());
  put(commit, std::string(200, 'a'));
  EXPECT_TRUE(commit.step());
  put(commit, std::string(200, 'b'));  // the segment has room for only one of the records
  commit.commit_now();
  EXPECT_TRUE(commit.step());
  EXPECT_EQ(durable_, 2U);
  EXPECT_TRUE(commit.step());
  EXPECT_EQ(durable_, 3U);
  EXPECT_EQ(groups(), 2U);
  EXPECT_EQ(segment_names(files_).size(), 2U);
}

TEST_F(GroupCommitTest, StopCommitsWhatIsOnlyWritten) {
  GroupCommit commit(writer_, early_options(1), handlers());
  put(commit, "a");
  EXPECT_TRUE(commit.step());
  EXPECT_FALSE(commit.step()) << "everything is written, and nothing is due";
  EXPECT_EQ(durable_, 0U);
  commit.stop();
  EXPECT_EQ(durable_, 2U);
}

TEST_F(GroupCommitTest, CommitsWhatIsOnlyWrittenTenMillisecondsAfterItsFirstRecord) {
  GroupCommit commit(writer_, early_options(1), handlers());
  put(commit, "a");
  EXPECT_TRUE(commit.step());
  now_us_ = 9'999;
  EXPECT_FALSE(commit.step());
  now_us_ = 10'000;
  EXPECT_TRUE(commit.step());
  EXPECT_EQ(durable_, 2U);
}

TEST_F(GroupCommitTest, KeepsWhatFollowsAWrittenGroupUntilTheDiskHasRoom) {
  GroupCommit commit(writer_, early_options(100), handlers());
  put(commit, std::string(200, 'a'));
  EXPECT_TRUE(commit.step());
  files_.set_space(10);
  put(commit, std::string(300, 'b'));  // needs the next segment
  commit.commit_now();
  EXPECT_TRUE(commit.step());
  EXPECT_EQ(durable_, 2U);
  EXPECT_TRUE(commit.step());
  EXPECT_EQ(no_space_, 1);
  files_.set_space(UINT64_MAX);
  now_us_ += 100'000;
  EXPECT_TRUE(commit.step());
  EXPECT_EQ(durable_, 3U);
  EXPECT_EQ(groups(), 2U);
}

TEST_F(GroupCommitTest, AfterAnEarlyWriteThatFailedCommitsNothingMore) {
  GroupCommit commit(writer_, early_options(1), handlers());
  files_.fail_write(files_.writes() + 1);
  put(commit, "a");
  EXPECT_TRUE(commit.step());
  EXPECT_EQ(failures_.size(), 1U);
  EXPECT_FALSE(commit.has_room(1));
  EXPECT_EQ(commit.due_in_us(), -1);
}

TEST_F(GroupCommitTest, RefusesRecordsWhileTheBufferIsFull) {
  GroupCommit commit(writer_, options(), handlers());
  while (commit.has_room(100)) put(commit, std::string(100, 'a'));
  EXPECT_EQ(commit.due_in_us(), 0) << "a full buffer does not wait for the clock";
  EXPECT_TRUE(commit.step());
  EXPECT_TRUE(commit.has_room(100));
  EXPECT_TRUE(commit.has_room(5000)) << "a long record has room alone";
}

TEST_F(GroupCommitTest, TakesRecordsWhileASyncRuns) {
  GroupCommit commit(writer_, options(), handlers());
  put(commit, "a");
  commit.commit_now();
  bool is_first = true;
  files_.on_sync = [&] {
    if (std::exchange(is_first, false)) put(commit, "b");
  };
  EXPECT_TRUE(commit.step());
  EXPECT_EQ(durable_, 2U) << "the second record is not durable yet";
  commit.commit_now();
  EXPECT_TRUE(commit.step());
  EXPECT_EQ(durable_, 3U);
  EXPECT_EQ(groups(), 2U);
}

TEST_F(GroupCommitTest, OnAFullDiskWaitsAndGoesOn) {
  GroupCommit commit(writer_, options(), handlers());
  files_.set_space(10);
  put(commit, std::string(700, 'a'));
  commit.commit_now();
  EXPECT_TRUE(commit.step());
  EXPECT_EQ(no_space_, 1);
  EXPECT_FALSE(commit.has_room(1));
  EXPECT_FALSE(commit.step());
  EXPECT_EQ(commit.due_in_us(), 100'000);
  now_us_ += 100'000;
  EXPECT_TRUE(commit.step());
  EXPECT_EQ(no_space_, 1) << "said once";
  files_.set_space(UINT64_MAX);
  now_us_ += 100'000;
  EXPECT_TRUE(commit.step());
  EXPECT_EQ(durable_, 2U);
  EXPECT_TRUE(commit.has_room(1));
  EXPECT_TRUE(failures_.empty());
}

TEST_F(GroupCommitTest, AfterAFailureCommitsNothingMore) {
  GroupCommit commit(writer_, options(), handlers());
  files_.fail_sync(files_.syncs() + 1);
  put(commit, "a");
  commit.commit_now();
  EXPECT_TRUE(commit.step());
  EXPECT_EQ(failures_.size(), 1U);
  EXPECT_FALSE(commit.has_room(1));
  EXPECT_EQ(commit.due_in_us(), -1);
  const auto syncs = files_.syncs();
  commit.stop();
  EXPECT_EQ(files_.syncs(), syncs);
  EXPECT_EQ(durable_, 0U);
  EXPECT_EQ(failures_.size(), 1U);
}

TEST_F(GroupCommitTest, WithoutMemoryFailsWithASentence) {
  GroupCommit commit(writer_, options(), handlers());
  files_.on_sync = [] { throw std::bad_alloc(); };
  put(commit, "a");
  commit.commit_now();
  EXPECT_TRUE(commit.step());
  EXPECT_THAT(failures_, testing::ElementsAre(testing::HasSubstr("no memory")));
  EXPECT_FALSE(commit.has_room(1));
  EXPECT_EQ(durable_, 0U);
}

TEST_F(GroupCommitTest, StopCommitsWhatWaits) {
  GroupCommit commit(writer_, options(), handlers());
  put(commit, "a");
  commit.stop();
  EXPECT_EQ(durable_, 2U);
}

TEST_F(GroupCommitTest, StopOnAFullDiskIsAFailure) {
  GroupCommit commit(writer_, options(), handlers());
  files_.set_space(10);
  put(commit, std::string(700, 'a'));
  commit.stop();
  EXPECT_EQ(failures_.size(), 1U);
  EXPECT_EQ(durable_, 0U);
}

TEST_F(GroupCommitTest, OnItsThreadMakesEveryRecordDurableInOrder) {
  std::mt19937_64 random(5);
  std::atomic<std::uint64_t> durable = 1;
  auto with_clock = options();
  with_clock.now_us = &steady_now_us;
  with_clock.begin_bytes = 150;
  auto counting = handlers();
  counting.on_durable = [&](std::uint64_t sequence) {
    durable = sequence;
    durable.notify_one();
  };
  std::vector<std::string> all;
  {
    GroupCommit commit(writer_, with_clock, counting);
    commit.start();
    for (int i = 0; i < 3000; ++i) {
      all.emplace_back(random() % 200, 'x');
      while (!commit.has_room(all.back().size())) {
        const std::uint64_t seen = durable;
        if (!commit.has_room(all.back().size())) durable.wait(seen);
      }
      EXPECT_EQ(put(commit, all.back()), all.size());
    }
  }
  EXPECT_EQ(durable, all.size() + 1);
  std::vector<std::string> found;
  read_log(files_, [&](const Group& group) {
    for (const ModelRecord& record : model_of(group)) found.push_back(record.payload);
  });
  EXPECT_EQ(found, all);
}

}  // namespace
}  // namespace starling::log
