// SPDX-License-Identifier: Apache-2.0
// Tests the log's folder on a real disk.
#include "starling/log/system_files.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "starling/log/recovery.hpp"
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
