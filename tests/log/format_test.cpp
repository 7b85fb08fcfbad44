// SPDX-License-Identifier: Apache-2.0
// Reads a log that was written when the format was new. Every later program must read it.
// `STARLING_LOG_WRITE_FIXTURE=1 test_log` writes it, for a new version of the format.
#include <cstdlib>

#include <gmock/gmock.h>

#include "starling/log/reader.hpp"
#include "starling/log/system_files.hpp"
#include "starling/log/writer.hpp"
#include "tests/log/support/model.hpp"

namespace starling::log {
namespace {

const std::string version_1 = STARLING_LOG_FIXTURES "/version_1";

std::vector<ModelGroup> fixture_groups() {
  return {{{1, 1, "the first record"}, {2, 1, ""}},
          {{3, 7, "seven b"}},
          {{40000, 65535, std::string(300, '\xff')}},
          {{1, 1, "the last record"}}};
}

std::vector<std::byte> fixture_user() {
  const std::string text = "space and limits";
  const auto bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

TEST(Format, OfTheFirstVersionIsReadForEver) {
  if (std::getenv("STARLING_LOG_WRITE_FIXTURE") != nullptr) {
    const auto files = open_folder(version_1, FolderUse::write);
    Writer writer(*files, NewLog{.id = test_id(), .user = fixture_user()}, test_options(512));
    for (const ModelGroup& group : fixture_groups()) commit(writer, group);
  }
  const auto files = open_folder(version_1, FolderUse::read);
  std::vector<ModelGroup> found;
  const LogSummary summary = read_log(*files, collect(found));
  EXPECT_EQ(found, fixture_groups());
  EXPECT_EQ(summary.segments, 3U);
  ASSERT_TRUE(summary.end);
  EXPECT_EQ(summary.end->header.user, fixture_user());
  EXPECT_EQ(summary.end->header.id, test_id());
  EXPECT_EQ(summary.end->position.next_sequence, 6U);
  EXPECT_EQ(summary.end->position.next_group, 5U);
}

TEST(Format, OfALogWrittenNowHasTheBytesOfTheFirstVersion) {
  const std::string path = testing::TempDir() + "starling_log_format";
  const auto old = open_folder(version_1, FolderUse::read);
  const auto files = open_folder(path, FolderUse::write);
  for (const std::string& name : files->list()) files->remove(name);
  Writer writer(*files, NewLog{.id = test_id(), .user = fixture_user()}, test_options(512));
  for (const ModelGroup& group : fixture_groups()) commit(writer, group);
  ASSERT_EQ(segment_names(*files), segment_names(*old));
  for (const std::string& name : segment_names(*old)) {
    std::vector<std::byte> expected(old->open(name)->bytes());
    std::vector<std::byte> written(files->open(name)->bytes());
    old->open(name)->read(0, expected);
    files->open(name)->read(0, written);
    EXPECT_EQ(written, expected) << name;
  }
}

TEST(Format, OfNamesOfSegmentsHasTwentyDigits) {
  EXPECT_EQ(segment_name(1), "00000000000000000001.log");
  EXPECT_EQ(sequence_of_name(segment_name(UINT64_MAX)), UINT64_MAX);
  EXPECT_FALSE(sequence_of_name("1.log"));
  EXPECT_FALSE(sequence_of_name("0000000000000000001a.log"));
  EXPECT_FALSE(sequence_of_name("99999999999999999999.log"));
}

}  // namespace
}  // namespace starling::log
