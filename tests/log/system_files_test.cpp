// SPDX-License-Identifier: Apache-2.0
// Tests the log's folder on a real disk.
#include "starling/log/system_files.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "starling/knn/base/descriptor.hpp"
#include "starling/log/recovery.hpp"
#include "starling/log/snapshot.hpp"
#include "starling/log/writer.hpp"
#include "tests/log/support/model.hpp"

namespace starling::log {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SystemFilesTest : public testing::Test {
 protected:
  SystemFilesTest() { std::filesystem::remove_all(path_); }
  ~SystemFilesTest() override { std::filesystem::remove_all(path_); }
  static unsigned mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 0777U;
  }
  const std::string path_ = testing::TempDir() + "starling_log_" +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(SystemFilesTest, KeepALogFromOneRunToTheNext) {
  std::vector<ModelGroup> all;
  for (int run = 0; run < 4; ++run) {
    const auto files = open_folder(path_, FolderUse::write);
    std::vector<ModelGroup> found;
    const LogSummary summary = recover_log(*files, collect(found));
    ASSERT_EQ(found, all);
    Writer writer = summary.end
                        ? Writer(*files, *summary.end, test_options(10'000))
                        : Writer(*files, NewLog{.id = test_id(), .user = {}}, test_options(10'000));
    for (int i = 0; i < 5; ++i) {
      all.push_back({{1, 0, std::string(static_cast<std::size_t>(1000 * i), 'a')}});
      commit(writer, all.back());
    }
  }
}

TEST_F(SystemFilesTest, AreForTheirOwnerAlone) {
  const auto files = open_folder(path_, FolderUse::write);
  Writer writer(*files, NewLog{.id = test_id(), .user = {}}, test_options());
  EXPECT_EQ(mode_of(path_), 0700U);
  EXPECT_EQ(mode_of(path_ + "/" + segment_name(1)), 0600U);
}

TEST_F(SystemFilesTest, RefuseASecondWriter) {
  auto first = open_folder(path_, FolderUse::write);
  try {
    open_folder(path_, FolderUse::write);
    FAIL() << "two writers";
  } catch (const FolderLocked& refusal) {
    EXPECT_THAT(refusal.what(), HasSubstr("another process uses the log in " + path_));
  }
  EXPECT_NO_THROW(open_folder(path_, FolderUse::read));
  first.reset();
  EXPECT_NO_THROW(open_folder(path_, FolderUse::write));
}

TEST_F(SystemFilesTest, RefuseAFolderThatOthersMayWriteTo) {
  for (const unsigned mode : {0777U, 0770U, 0702U}) {
    std::filesystem::create_directory(path_);
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    try {
      open_folder(path_, FolderUse::write);
      FAIL() << std::oct << mode;
    } catch (const UnsafeFolder& refusal) {
      EXPECT_THAT(refusal.what(), HasSubstr("run chmod 700 " + path_));
    }
    EXPECT_NO_THROW(open_folder(path_, FolderUse::read));
    ASSERT_EQ(::chmod(path_.c_str(), 0755), 0);
    EXPECT_NO_THROW(open_folder(path_, FolderUse::write));
    std::filesystem::remove_all(path_);
  }
}

TEST_F(SystemFilesTest, RefuseAFolderOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  std::filesystem::create_directory(path_);
  ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
  try {
    open_folder(path_, FolderUse::write);
    FAIL();
  } catch (const UnsafeFolder& refusal) {
    EXPECT_THAT(refusal.what(), HasSubstr("belongs to the user 12345"));
  }
}

/// A log in a folder. Its writer also makes snapshots.
class SummedLog {
 public:
  explicit SummedLog(const std::string& path)
      : files_(open_folder(path, FolderUse::write)),
        writer_(*files_, NewLog{.id = test_id(), .user = {}}, test_options(512)) {}

  void write_groups(int count) {
    for (int i = 0; i < count; ++i, ++written_) commit(writer_, {{1, 0, std::string(200, 'a')}});
  }
  void make_snapshot() {
    SnapshotWriter snapshot(*files_, *newest_header(*files_), written_ + 1, 0);
    drop_before(*files_, snapshot.finish());
  }

 private:
  std::unique_ptr<Files> files_;
  Writer writer_;
  std::uint64_t written_ = 0;
};

TEST_F(SystemFilesTest, RefuseASecondWriterThoughTheLockFileIsRemoved) {
  auto log = std::make_unique<SummedLog>(path_);
  const auto expect_locked = [&] {
    std::filesystem::remove(path_ + "/lock");
    EXPECT_THROW(open_folder(path_, FolderUse::write), FolderLocked);
  };
  expect_locked();
  std::size_t segments = 1;
  for (int groups = 0; groups < 20; ++groups) {
    log->write_groups(1);
    segments = std::max(segments, segment_names(*open_folder(path_, FolderUse::read)).size());
    expect_locked();
  }
  EXPECT_GT(segments, 3U) << "the lock has moved from segment to segment";
  log->make_snapshot();
  expect_locked();
  log.reset();
  const auto next = open_folder(path_, FolderUse::write);
  const LogSummary summary = recover_log(
      *next, [](const Group&) {}, range_behind(newest_snapshot(*next)));
  expect_locked();
  Writer writer(*next, *summary.end, test_options(512));
  for (int groups = 0; groups < 5; ++groups) {
    commit(writer, {{1, 0, std::string(200, 'a')}});
    expect_locked();
  }
}

TEST_F(SystemFilesTest, LetGoOfTheSegmentBeforeTheNewest) {
  SummedLog log(path_);
  log.write_groups(10);
  const std::vector<std::string> names = segment_names(*open_folder(path_, FolderUse::read));
  ASSERT_GT(names.size(), 2U);
  for (const std::string& name : names) {
    const Descriptor file(::open((path_ + "/" + name).c_str(), O_RDWR | O_CLOEXEC));
    EXPECT_EQ(::flock(file.number(), LOCK_EX | LOCK_NB) == 0, name != names.back()) << name;
  }
}

TEST_F(SystemFilesTest, BeginNoSegmentAfterThatOfAnotherWriter) {
  const auto files = open_folder(path_, FolderUse::write);
  std::filesystem::remove(path_ + "/lock");
  SummedLog other(path_);
  const SegmentHeader header{.id = test_id(), .begin = {}, .user = {}};
  EXPECT_THROW(create_segment(*files, header, 512), FolderLocked);
}

TEST_F(SystemFilesTest, StayReadableWhenTheirWriterRemovesThem) {
  SummedLog log(path_);
  log.write_groups(10);
  const auto before = open_folder(path_, FolderUse::read);
  const std::vector<std::string> names = before->list();
  ASSERT_GT(names.size(), 2U);
  log.make_snapshot();
  log.write_groups(10);
  log.make_snapshot();
  EXPECT_EQ(before->list(), names);
  EXPECT_FALSE(std::filesystem::exists(path_ + "/" + names.front()));
  for (int reads = 0; reads < 2; ++reads) {
    const LogCheck check = check_log(*before);
    EXPECT_THAT(check.damage, testing::IsEmpty());
    EXPECT_GE(check.read.records, 10U);
  }
  const auto after = open_folder(path_, FolderUse::read);
  EXPECT_EQ(newest_snapshot(*after)->next_sequence, 21U);
}

TEST_F(SystemFilesTest, AreOpenedAsTheyAreAtOneMoment) {
  SummedLog log(path_);
  log.write_groups(1);
  std::atomic<bool> is_done = false;
  std::thread writing([&] {
    while (!is_done) {
      try {
        log.write_groups(5);
        log.make_snapshot();
      } catch (const NoSpace&) {
        // A file system may refuse for a moment the space of files that were just removed. A commit
        // may be repeated.
      }
    }
  });
  std::set<std::uint64_t> snapshots;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int reads = 0; reads < 300 || snapshots.size() <= 10; ++reads) {
    if (std::chrono::steady_clock::now() > end) break;
    const auto files = open_folder(path_, FolderUse::read);
    const auto snapshot = newest_snapshot(*files);
    if (snapshot) snapshots.insert(snapshot->next_sequence);
    EXPECT_THAT(check_log(*files, range_behind(snapshot)).damage, testing::IsEmpty());
  }
  is_done = true;
  writing.join();
  EXPECT_GT(snapshots.size(), 10U);
}

TEST_F(SystemFilesTest, ReserveTheirLength) {
  const auto files = open_folder(path_, FolderUse::write);
  const auto file = files->create("a", 100'000);
  EXPECT_EQ(file->bytes(), 100'000U);
  struct stat status {};
  ASSERT_EQ(::stat((path_ + "/a").c_str(), &status), 0);
  EXPECT_GE(status.st_blocks * 512, 100'000);
  EXPECT_GT(files->free_bytes(), 0U);
}

TEST_F(SystemFilesTest, ListRenameAndRemove) {
  const auto files = open_folder(path_, FolderUse::write);
  files->create("b", 10);
  files->create("a", 10);
  files->rename("b", "c");
  EXPECT_THAT(files->list(), ElementsAre("a", "c"));
  files->remove("a");
  files->sync_folder();
  EXPECT_THAT(files->list(), ElementsAre("c"));
}

TEST_F(SystemFilesTest, SayWhichFileIsMissing) {
  const auto files = open_folder(path_, FolderUse::write);
  try {
    files->open("gone");
    FAIL();
  } catch (const IoError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot open " + path_ + "/gone: No such file"));
  }
  EXPECT_THROW(open_folder(path_ + "/none", FolderUse::read), IoError);
}

TEST_F(SystemFilesTest, LeaveNoFileThatFoundNoRoom) {
  const auto files = open_folder(path_, FolderUse::write);
  EXPECT_THROW(files->create("huge", std::uint64_t{1} << 42), IoError);
  EXPECT_TRUE(files->list().empty());
}

TEST_F(SystemFilesTest, ReadFewerBytesOnlyAtTheEnd) {
  const auto files = open_folder(path_, FolderUse::write);
  const auto file = files->create("a", 10);
  std::vector<std::byte> out(8);
  EXPECT_EQ(file->read(4, out), 6U);
  EXPECT_EQ(file->read(10, out), 0U);
}

}  // namespace
}  // namespace starling::log
