// SPDX-License-Identifier: Apache-2.0
// Tests that a log distinguishes the files that it wrote from copies of them.
#include "starling/log/identity.hpp"

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "starling/log/segment.hpp"
#include "starling/log/system_files.hpp"
#include "tests/log/support/simulated_files.hpp"

namespace starling::log {
namespace {

namespace fs = std::filesystem;

/// Puts every file of the folder back, as a copy or as the same file.
void put_back(SimulatedFiles& files, bool as_copies) {
  files.put_back(files.image(), as_copies);
}

class Identity : public testing::Test {
 protected:
  Identity() {
    create_segment(files_, {}, 1000);
    write_identity(files_, true);
  }
  bool is_copy() { return log::is_copy(files_, true); }
  SimulatedFiles files_;
};

TEST_F(Identity, AFolderIsNoCopyOfItself) {
  EXPECT_FALSE(is_copy());
  write_identity(files_, true);
  EXPECT_FALSE(is_copy());
  put_back(files_, false);
  EXPECT_FALSE(is_copy()) << "a disk that goes back in time hides it";
}

TEST_F(Identity, ACopyOfTheFilesIsOneUntilItGetsItsOwnIdentity) {
  put_back(files_, true);
  EXPECT_TRUE(is_copy());
  write_identity(files_, true);
  EXPECT_FALSE(is_copy());
}

TEST_F(Identity, ACopyOfTheSegmentAloneIsOne) {
  const std::string name = segment_name(1);
  files_.put(name, files_.bytes_of(name));
  EXPECT_TRUE(is_copy());
  files_.remove(name);
  EXPECT_FALSE(is_copy()) << "a snapshot stands for the segment";
}

TEST_F(Identity, ASegmentWithoutGroupsMayBeReplaced) {
  write_identity(files_, false);
  const std::string name = segment_name(1);
  files_.put(name, files_.bytes_of(name));
  EXPECT_FALSE(is_copy());
}

TEST_F(Identity, AFolderWithoutAnIdentityIsACopyIfItHadOne) {
  files_.remove(identity_name);
  EXPECT_TRUE(log::is_copy(files_, true));
  EXPECT_FALSE(log::is_copy(files_, false)) << "an older program wrote the log";
}

TEST_F(Identity, AFolderThatIsMarkedIsACopyWhateverItHad) {
  mark_as_copy(files_);
  EXPECT_TRUE(log::is_copy(files_, true));
  EXPECT_TRUE(log::is_copy(files_, false));
}

TEST_F(Identity, BytesThatAreNoIdentityAreThatOfACopy) {
  for (const std::size_t bytes : {0u, 7u, 256u, 5000u}) {
    files_.put(std::string(identity_name), std::vector<std::byte>(bytes, std::byte{0x41}));
    EXPECT_TRUE(is_copy()) << bytes;
  }
}

TEST_F(Identity, PowerLossLeavesTheOldIdentityOrTheNewOne) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200; ++i) {
    files_.sync_folder();
    files_.fail_sync(files_.syncs() + 1 + static_cast<std::uint64_t>(i % 2));
    try {
      write_identity(files_, true);
    } catch (const IoError&) {
    }
    files_.cut_power(random);
    ASSERT_FALSE(is_copy()) << i;
  }
}

TEST(IdentityOnDisk, ARenamedFolderIsTheSameAndACopiedOneIsNot) {
  const fs::path path = testing::TempDir() + "starling_identity";
  const fs::path moved = path.string() + "_moved";
  for (const fs::path& each : {path, moved}) fs::remove_all(each);
  {
    const auto files = open_folder(path, FolderUse::write);
    create_segment(*files, {}, 1000);
    write_identity(*files, true);
    if (files->birth_of(identity_name).empty()) GTEST_SKIP() << "no births on this file system";
    EXPECT_FALSE(is_copy(*files, true));
  }
  fs::rename(path, moved);
  EXPECT_FALSE(is_copy(*open_folder(moved, FolderUse::write), true));
  fs::copy(moved, path);
  EXPECT_TRUE(is_copy(*open_folder(path, FolderUse::write), true));
  for (const fs::path& each : {path, moved}) fs::remove_all(each);
}

}  // namespace
}  // namespace starling::log
