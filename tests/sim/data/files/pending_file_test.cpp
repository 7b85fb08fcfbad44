// SPDX-License-Identifier: Apache-2.0
// Tests files that get their names when they are complete. Until then a file has a hidden name or
// no name.
#include "starling/sim/data/files/pending_file.hpp"

#include <cerrno>
#include <string>

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/sim/data/traces/trace_fixture.hpp"

namespace starling::sim {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using Kind = PendingFile::Kind;

class PendingFiles : public testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<PendingFile> open(const std::string& name) const {
    return PendingFile::open(directory.path(name), GetParam());
  }
  static void write(const PendingFile& file, const std::string& text) {
    ASSERT_EQ(::write(file.descriptor(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  std::string read(const std::string& name) const {
    return TemporaryDirectory::read(directory.path(name));
  }

  const TemporaryDirectory directory;
};

TEST_P(PendingFiles, TakeTheirPlaceWithItsPermissions) {
  for (const std::string name : {"new", "old"}) {
    if (name == "old")
      fs::permissions(directory.write(name, "old"), fs::perms::owner_read | fs::perms::group_read);
    const auto file = open(name);
    ASSERT_TRUE(file);
    write(*file, "whole");
    EXPECT_EQ(fs::exists(directory.path(name)), name == "old");
    ASSERT_TRUE(file->appear());
    EXPECT_EQ(read(name), "whole");
  }
  EXPECT_EQ(fs::status(directory.path("old")).permissions(),
            fs::perms::owner_read | fs::perms::group_read);
  EXPECT_THAT(directory.names(), ElementsAre("new", "old"));
}

TEST_P(PendingFiles, AreGoneUnlessTheyAppear) {
  directory.write("old", "old");
  write(*open("new"), "half");
  write(*open("old"), "half");
  EXPECT_THAT(directory.names(), ElementsAre("old"));
  EXPECT_EQ(read("old"), "old");
}

TEST_P(PendingFiles, OfOnePlaceDoNotMeet) {
  const auto first = open("a");
  const auto second = open("a");
  write(*first, "first");
  write(*second, "second");
  ASSERT_TRUE(second->appear());
  EXPECT_EQ(read("a"), "second");
  ASSERT_TRUE(first->appear());
  EXPECT_EQ(read("a"), "first");
  EXPECT_THAT(directory.names(), ElementsAre("a"));
}

TEST_P(PendingFiles, ThatCannotTakeTheirPlaceAreGone) {
  auto file = open("a");
  fs::create_directories(directory.path("a/b"));
  EXPECT_FALSE(file->appear());
  EXPECT_EQ(errno, EISDIR);
  file.reset();
  EXPECT_THAT(directory.names(), ElementsAre("a"));
}

TEST_P(PendingFiles, WhereThereIsNoFolderAreNone) {
  directory.write("file", "");
  for (const auto& [name, why] :
       {std::pair("absent/a", ENOENT), {"file/a", ENOTDIR}, {"folder/", EISDIR}}) {
    EXPECT_FALSE(open(name));
    EXPECT_EQ(errno, why) << name;
  }
  EXPECT_THAT(directory.names(), ElementsAre("file"));
}

std::string kind_name(const testing::TestParamInfo<Kind>& info) {
  return info.param == Kind::unnamed ? "unnamed" : "hidden";
}

INSTANTIATE_TEST_SUITE_P(Kinds, PendingFiles, testing::Values(Kind::unnamed, Kind::hidden),
                         kind_name);

TEST(PendingFile, IsSeenOnlyIfItMustBe) {
  const TemporaryDirectory directory;
  const auto unnamed = PendingFile::open(directory.path("a"));
  EXPECT_THAT(directory.names(), IsEmpty());
  const auto hidden = PendingFile::open(directory.path("a"), Kind::hidden);
  EXPECT_THAT(directory.names(), ElementsAre(StartsWith(".a." + std::to_string(getpid()) + "-")));
}

TEST(PendingFile, TakesNoHiddenNameThatIsTaken) {
  const TemporaryDirectory directory;
  const auto first = PendingFile::open(directory.path("a"), Kind::hidden);
  const std::string name = directory.names().front();
  const std::size_t number_at = name.rfind('-') + 1;
  const unsigned long number = std::stoul(name.substr(number_at));
  for (unsigned long next = number + 1; next < number + 4; ++next)
    directory.write(name.substr(0, number_at) + std::to_string(next), "another's");
  const auto second = PendingFile::open(directory.path("a"), Kind::hidden);
  ASSERT_TRUE(second && second->appear());
  EXPECT_THAT(directory.names(), SizeIs(5));
  for (unsigned long next = number + 1; next < number + 4; ++next)
    EXPECT_EQ(
        TemporaryDirectory::read(directory.path(name.substr(0, number_at) + std::to_string(next))),
        "another's");
}

}  // namespace
}  // namespace starling::sim
