// SPDX-License-Identifier: Apache-2.0
// Has each system call that a log makes fail once, and then reads with a system that works.
#include "tests/log/support/failing_calls.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

#include <gmock/gmock.h>

#include "starling/log/recovery.hpp"
#include "starling/log/snapshot.hpp"
#include "starling/log/system_files.hpp"
#include "starling/log/writer.hpp"
#include "tests/log/support/model.hpp"

namespace starling::log {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class FailingCalls : public testing::Test {
 protected:
  /// The result of a run of a program that uses a log.
  struct Outcome {
    std::vector<std::string> durable;
    bool has_failed = false;
    std::string sentence;       ///< the error that ended the run; empty if no error did
    unsigned without_room = 0;  ///< number of commits that the full disk refused and that were
                                ///< repeated
  };
  static constexpr int groups = 8;

  ~FailingCalls() override { std::filesystem::remove_all(path_); }

  /// Writes two halves of a log, with a restart and a snapshot between them, in a new folder.
  /// Runs again if the disk itself refused space: a file system may refuse for a moment the space
  /// of files that were just removed.
  Outcome run(std::string_view call, int number, int error) {
    Outcome outcome = run_once(call, number, error);
    for (int tries = 0; tries < 20 && !outcome.has_failed && !outcome.sentence.empty(); ++tries)
      outcome = run_once(call, number, error);
    return outcome;
  }
  Outcome run_once(std::string_view call, int number, int error) {
    std::filesystem::remove_all(path_);
    Outcome outcome;
    const FailingCall failing(call, number, error);
    try {
      write_half(outcome);
      make_snapshot();
      write_half(outcome);
    } catch (const WriterDead& dead) {
      outcome.sentence = dead.what();
    } catch (const IoError& io_error) {
      outcome.sentence = io_error.what();
    }
    outcome.has_failed = FailingCall::has_failed();
    return outcome;
  }

  void write_half(Outcome& outcome) {
    const auto files = open_folder(path_, FolderUse::write);
    const auto snapshot = newest_snapshot(*files);
    if (snapshot) read_snapshot(*files, *snapshot, [](const Record&) { return true; });
    const LogSummary summary = recover_log(
        *files, [](const Group&) {}, range_behind(snapshot));
    Writer writer = summary.end
                        ? Writer(*files, *summary.end, test_options(13'000))
                        : Writer(*files, NewLog{.id = test_id(), .user = {}}, test_options(13'000));
    for (int i = 0; i < groups; ++i) {
      const std::string text = text_of(outcome.durable.size());
      PendingGroup group(writer.next_sequence());
      append(group, {{1, 0, text}});
      if (i % 2 == 0 && writer.has_room(group.bytes())) writer.begin(group);
      commit(writer, group, outcome);
      outcome.durable.push_back(text);
    }
    EXPECT_GT(files->free_bytes(), 0U);
  }

  /// Returns about a page of text, so that a group that is written early has whole pages.
  static std::string text_of(std::size_t number) {
    return "group " + std::to_string(number) + std::string(4000, 'x');
  }

  static void commit(Writer& writer, PendingGroup& group, Outcome& outcome) {
    try {
      writer.commit(group);
    } catch (const NoSpace&) {
      ++outcome.without_room;
      writer.commit(group);
    }
  }

  void make_snapshot() {
    const auto files = open_folder(path_, FolderUse::write);
    SnapshotWriter snapshot(*files, *newest_header(*files), groups / 2 + 1, 0);
    snapshot.append(RecordType{5}, 1, bytes_of("half of the first half"));
    drop_before(*files, snapshot.finish());
  }

  /// Returns the texts of the log's groups. A snapshot stands for the first half of them.
  std::vector<std::string> read() {
    std::vector<std::string> texts;
    if (!std::filesystem::exists(path_)) return texts;
    const auto files = open_folder(path_, FolderUse::write);
    const auto snapshot = newest_snapshot(*files);
    if (snapshot)
      for (int i = 0; i < groups / 2; ++i) texts.push_back(text_of(static_cast<std::size_t>(i)));
    recover_log(
        *files,
        [&](const Group& group) {
          for (const ModelRecord& record : model_of(group)) texts.push_back(record.payload);
        },
        range_behind(snapshot));
    return texts;
  }

  /// Checks that the log has all durable groups and, at most, the group whose commit failed.
  void expect_durable(const Outcome& outcome) {
    std::vector<std::string> there = read();
    ASSERT_GE(there.size(), outcome.durable.size());
    EXPECT_LE(there.size(), outcome.durable.size() + (outcome.sentence.empty() ? 0 : 1));
    there.resize(outcome.durable.size());
    EXPECT_EQ(there, outcome.durable);
  }

  /// Fails each call of this name in turn with the error. The log must do its work all the same.
  void expect_done_all_the_same(std::string_view call, int error) {
    for (int number = 1;; ++number) {
      SCOPED_TRACE(std::string(call) + ", call " + std::to_string(number));
      const Outcome outcome = run(call, number, error);
      if (!outcome.has_failed) {
        EXPECT_GT(number, 1) << "the log makes no such call";
        expect_all_durable(outcome);
        break;
      }
      expect_all_durable(outcome);
    }
  }

  void expect_all_durable(const Outcome& outcome) {
    EXPECT_EQ(outcome.sentence, "");
    EXPECT_EQ(outcome.durable.size(), 2U * groups);
    expect_durable(outcome);
  }

  const std::string path_ = testing::TempDir() + "starling_failing_calls_" +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(FailingCalls, LoseNothingThatWasDurableAndNameTheFileAndTheReason) {
  int failures = 0;
  for (const std::string_view call : failing_calls)
    for (int number = 1;; ++number) {
      SCOPED_TRACE(std::string(call) + " fails, call " + std::to_string(number));
      const Outcome outcome = run(call, number, EIO);
      if (!outcome.has_failed) {
        EXPECT_GT(number, 1) << "the log makes no such call";
        expect_all_durable(outcome);
        break;
      }
      ++failures;
      // A writer that cannot ask how much of the disk is free begins a segment of the usual length.
      if (call != "fstatvfs" || !outcome.sentence.empty()) {
        EXPECT_THAT(outcome.sentence, HasSubstr(path_));
        EXPECT_THAT(outcome.sentence, HasSubstr(std::generic_category().message(EIO)));
      }
      expect_durable(outcome);
    }
  EXPECT_GT(failures, 150);
}

TEST_F(FailingCalls, ForWantOfRoomOrQuotaLoseNothing) {
  for (const int error : {ENOSPC, EDQUOT}) {
    unsigned without_room = 0;
    for (int number = 1;; ++number) {
      SCOPED_TRACE(std::generic_category().message(error) + ", call " + std::to_string(number));
      const Outcome outcome = run("posix_fallocate", number, error);
      if (!outcome.has_failed) {
        expect_all_durable(outcome);
        break;
      }
      without_room += outcome.without_room;
      // A new log and a snapshot do not wait for room.
      if (outcome.without_room == 0) {
        EXPECT_THAT(outcome.sentence, HasSubstr("does not fit on the disk of " + path_));
        EXPECT_THAT(outcome.sentence, HasSubstr(std::generic_category().message(error)));
        EXPECT_THAT(outcome.sentence, MatchesRegex("a file of [0-9.]+ (bytes|[KMG]iB) does .*"));
      } else {
        expect_all_durable(outcome);
      }
      expect_durable(outcome);
    }
    EXPECT_GE(without_room, 3U);
  }
}

TEST_F(FailingCalls, ThatASignalInterruptsAreMadeAgain) {
  constexpr std::array<std::string_view, 8> interrupted{
      "open", "openat", "pread", "pwrite", "fdatasync", "fsync", "flock", "posix_fallocate"};
  for (const std::string_view call : interrupted) expect_done_all_the_same(call, EINTR);
}

TEST_F(FailingCalls, ThatDoHalfOfTheirWorkAreCompleted) {
  for (const std::string_view call : {"pread", "pwrite"})
    expect_done_all_the_same(call, FailingCall::half);
}

}  // namespace
}  // namespace starling::log
