// SPDX-License-Identifier: Apache-2.0
// Cuts the power of a log at random moments, again and again, and compares what is left with the
// oracle.
#include <functional>
#include <optional>
#include <random>

#include <gmock/gmock.h>

#include "starling/log/recovery.hpp"
#include "starling/log/writer.hpp"
#include "tests/log/support/model.hpp"
#include "tests/log/support/simulated_files.hpp"

namespace starling::log {
namespace {

/// One log that lives through several power cuts.
class Life {
 public:
  explicit Life(std::uint64_t seed) : random_(seed) {}

  void run(int cuts) {
    for (int i = 0; i < cuts; ++i) {
      try {
        recover();
        work();
      } catch (const WriterDead&) {
      } catch (const IoError&) {
      }
      writer_.reset();
      if (random_() % 4 != 0) files_.cut_power(random_);
      files_.set_space(UINT64_MAX);
      files_.fail_sync(0);
      files_.fail_write(0);
    }
    recover();
  }
  int failures() const { return failures_; }

 private:
  void recover() {
    std::vector<ModelGroup> found;
    const LogSummary summary = recover_log(files_, collect(found));
    // The log has a prefix of the appended groups, with every acknowledged group.
    ASSERT_GE(found.size(), durable_);
    ASSERT_LE(found.size(), appended_.size());
    appended_.resize(found.size());
    ASSERT_EQ(found, appended_);
    durable_ = found.size();
    if (summary.end)
      writer_.emplace(files_, *summary.end, options_);
    else
      writer_.emplace(files_, NewLog{.id = test_id(), .user = std::vector<std::byte>(13)},
                      options_);
  }

  void work() {
    if (random_() % 3 == 0) files_.fail_sync(files_.syncs() + 1 + random_() % 6);
    if (random_() % 3 == 0) files_.fail_write(files_.writes() + 1 + random_() % 6);
    if (random_() % 3 == 0) files_.set_space(random_() % 4000);
    const auto groups = random_() % 6;
    for (std::uint64_t i = 0; i < groups; ++i) {
      appended_.push_back(random_group(random_, 4, 300));
      PendingGroup group(writer_->next_sequence());
      try {
        fill(group, appended_.back());
        writer_->commit(group);
      } catch (const NoSpace&) {
        appended_.pop_back();
        ++failures_;
        files_.set_space(UINT64_MAX);
        continue;
      }
      ++durable_;
    }
  }

  /// Appends the records. Some of them are written before later ones are appended.
  void fill(PendingGroup& group, const ModelGroup& records) {
    PendingGroup whole(writer_->next_sequence());
    append(whole, records);
    const bool may_begin = writer_->has_room(whole.bytes());
    for (const ModelRecord& record : records) {
      append(group, {record});
      if (may_begin && random_() % 3 == 0) writer_->begin(group);
    }
  }

  std::mt19937_64 random_;
  SimulatedFiles files_;
  WriterOptions options_ = test_options(1024);
  std::optional<Writer> writer_;
  std::vector<ModelGroup> appended_;
  std::size_t durable_ = 0;
  int failures_ = 0;
};

TEST(PowerCut, LeavesAllThatWasAcknowledgedAndNothingElse) {
  constexpr std::uint64_t lives = 1250;
  constexpr int cuts = 8;  // 10,000 cuts in all lives together
  for (std::uint64_t seed = 0; seed < lives; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Life life(seed);
    life.run(cuts);
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

TEST(PowerCut, AfterASyncThatFailedLosesNothingThatARecoveryTold) {
  std::mt19937_64 random(1);
  SimulatedFiles files;
  const ModelGroup first{{1, 0, "first"}};
  const ModelGroup second{{1, 0, std::string(500, 'x')}};
  {
    Writer writer(files, NewLog{.id = test_id(), .user = {}}, test_options());
    commit(writer, first);
    files.fail_sync(files.syncs() + 1);
    EXPECT_THROW(commit(writer, second), WriterDead);
    EXPECT_THROW(commit(writer, second), WriterDead);
  }
  files.fail_sync(0);
  std::vector<ModelGroup> told;
  recover_log(files, collect(told));
  EXPECT_EQ(told, (std::vector{first, second}));
  files.cut_power(random);
  std::vector<ModelGroup> left;
  recover_log(files, collect(left));
  EXPECT_EQ(left, told);
}

TEST(PowerCut, WhileOldSegmentsAreDroppedLeavesNoGap) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    SimulatedFiles files;
    Writer writer(files, NewLog{.id = test_id(), .user = {}}, test_options(512));
    for (int i = 0; i < 12; ++i) commit(writer, {{1, 0, std::string(200, 'a')}});
    const auto before = segment_names(files).size();
    ASSERT_GT(before, 4U);
    const std::uint64_t kept = 1 + random() % 12;
    EXPECT_LT(drop_segments_before(files, kept), before);
    files.cut_power(random);
    std::uint64_t first = 0;
    read_log(files,
             [&](const Group& group) {
               if (first == 0) first = group.records.front().sequence;
             },
             {.from = kept});
    EXPECT_EQ(first, kept);
  }
}

}  // namespace
}  // namespace starling::log
