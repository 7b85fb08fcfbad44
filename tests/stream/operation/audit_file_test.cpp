// SPDX-License-Identifier: Apache-2.0
// Tests which files the audit log may be written to.
#include "starling/stream/operation/audit_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace starling::stream {
namespace {

TEST(AuditFile, IsForItsOwnerAloneAndAppendedTo) {
  const std::string path = testing::TempDir() + "starling_audit_file";
  std::filesystem::remove(path);
  for (const char* line : {"a", "b"}) AuditFile(path).write(line);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "a\nb\n");
  ASSERT_EQ(::chmod(path.c_str(), 0620), 0);
  try {
    AuditFile{path};
    FAIL() << "its group may change it";
  } catch (const std::runtime_error& refusal) {
    EXPECT_THAT(refusal.what(), testing::HasSubstr("run chmod go-w on it"));
  }
  EXPECT_NO_THROW(AuditFile("/dev/null"));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace starling::stream
