// SPDX-License-Identifier: Apache-2.0
// Changes bytes of a log. The reader must report a torn tail in the last group, or name the damage.
#include <cstring>

#include <gmock/gmock.h>

#include "starling/log/recovery.hpp"
#include "starling/log/writer.hpp"
#include "tests/log/support/model.hpp"
#include "tests/log/support/simulated_files.hpp"

namespace starling::log {
namespace {

using testing::HasSubstr;

const std::vector<ModelGroup>& written() {
  static const std::vector<ModelGroup> groups{{{1, 0, "one"}, {2, 1, std::string(90, 'b')}},
                                              {{3, 0, ""}},
                                              {{1, 0, std::string(50, 'c')}},
                                              {{1, 2, "four"}, {1, 0, std::string(64, 'd')}},
                                              {{5, 0, std::string(33, 'e')}}};
  return groups;
}

/// Writes five groups, in one segment or in several.
void write_log(SimulatedFiles& files, std::uint64_t segment_bytes) {
  Writer writer(files, NewLog{.id = test_id(), .user = std::vector<std::byte>(5, std::byte{9})},
                test_options(segment_bytes));
  for (const ModelGroup& group : written()) commit(writer, group);
}

std::vector<ModelGroup> first_groups(std::size_t count) {
  return {written().begin(), written().begin() + static_cast<std::ptrdiff_t>(count)};
}

TEST(TornTail, AtEveryByteOfTheLastGroupIsCut) {
  SimulatedFiles whole;
  write_log(whole, 1024);
  const LogEnd end = *read_log(whole, [](const Group&) {}).end;
  for (std::uint64_t cut = end.last_group_offset; cut < end.offset; ++cut) {
    SimulatedFiles files;
    write_log(files, 1024);
    auto& bytes = files.bytes_of(end.file);
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(cut), bytes.end(), std::byte{});
    std::vector<ModelGroup> found;
    const LogSummary summary = recover_log(files, collect(found));
    // If the last byte of the commit's chain is a zero, cutting it changes nothing.
    if (found.size() == 5) continue;
    ASSERT_EQ(found, first_groups(4)) << cut;
    if (cut > end.last_group_offset) {
      ASSERT_TRUE(summary.torn_tail);
      EXPECT_EQ(summary.torn_tail->file, end.file);
      EXPECT_EQ(summary.torn_tail->offset, end.last_group_offset);
    }
    // The log goes on, and has no torn tail any more.
    Writer writer(files, *summary.end, test_options());
    commit(writer, written()[4]);
    std::vector<ModelGroup> again;
    EXPECT_FALSE(read_log(files, collect(again)).torn_tail);
    ASSERT_EQ(again, written());
  }
}

TEST(Damage, OfAnySingleBitIsNamedOrIsInTheLastGroup) {
  for (const std::uint64_t segment_bytes : {std::uint64_t{1024}, std::uint64_t{400}}) {
    SimulatedFiles files;
    write_log(files, segment_bytes);
    const LogEnd end = *read_log(files, [](const Group&) {}).end;
    for (const std::string& name : segment_names(files)) {
      auto& bytes = files.bytes_of(name);
      for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        const std::byte flip{static_cast<unsigned char>(1U << (bit % 8))};
        bytes[bit / 8] ^= flip;
        const auto before = files.all_bytes();
        std::vector<ModelGroup> found;
        try {
          const LogSummary summary = read_log(files, collect(found));
          ASSERT_TRUE(summary.torn_tail) << name << " bit " << bit;
          ASSERT_EQ(name, end.file);
          ASSERT_GE(bit / 8, end.last_group_offset);
          ASSERT_EQ(found, first_groups(bit / 8 < end.offset ? 4 : 5));
        } catch (const DamagedLog& damage) {
          ASSERT_EQ(damage.file(), name) << bit;
          ASSERT_LE(damage.offset(), bit / 8);
          ASSERT_THROW(recover_log(files, collect(found)), DamagedLog);
          ASSERT_EQ(files.all_bytes(), before) << "recovery changes nothing";
        }
        bytes[bit / 8] ^= flip;
      }
    }
  }
}

class SegmentDamage : public testing::Test {
 protected:
  SegmentDamage() {
    write_log(files_, 400);
    names_ = segment_names(files_);
  }
  std::string refusal() {
    try {
      read_log(files_, [](const Group&) {});
    } catch (const DamagedLog& damage) {
      return damage.what();
    }
    return "nothing";
  }
  SimulatedFiles files_;
  std::vector<std::string> names_;
};

TEST_F(SegmentDamage, OfAMissingSegmentIsNamed) {
  ASSERT_GE(names_.size(), 3U);
  files_.remove(names_[1]);
  EXPECT_THAT(refusal(), HasSubstr(names_[2] + " at byte 0: it is segment 3, and segment 1"));
}

TEST_F(SegmentDamage, OfSegmentsThatChangedNamesIsNamed) {
  const auto first = files_.bytes_of(names_[0]);
  files_.put(names_[0], files_.bytes_of(names_[1]));
  files_.put(names_[1], first);
  EXPECT_THAT(refusal(), HasSubstr(names_[0] + " at byte 0: the file holds " + names_[1]));
}

TEST_F(SegmentDamage, OfAShortenedSegmentIsNamed) {
  auto& bytes = files_.bytes_of(names_[0]);
  const auto header = segment_header_bytes({.begin = {}, .user = std::vector<std::byte>(5)});
  bytes.resize(header);
  EXPECT_THAT(refusal(), HasSubstr(names_[0] + " at byte " + std::to_string(header)));
  bytes.resize(3);
  EXPECT_THAT(refusal(), HasSubstr("too short"));
}

TEST_F(SegmentDamage, OfASegmentOfAnotherLogIsNamed) {
  SimulatedFiles other;
  Writer writer(other, NewLog{.id = test_id(99), .user = std::vector<std::byte>(5, std::byte{9})},
                test_options(400));
  for (const ModelGroup& group : written()) commit(writer, group);
  files_.put(names_[1], other.bytes_of(names_[1]));
  EXPECT_THAT(refusal(), HasSubstr(names_[1] + " at byte 0: the file is of another log"));
}

TEST_F(SegmentDamage, InSeveralSegmentsIsListedByTheCheck) {
  const auto header = segment_header_bytes({.begin = {}, .user = std::vector<std::byte>(5)});
  files_.bytes_of(names_[0])[header] ^= std::byte{1};
  files_.bytes_of(names_[1])[8] ^= std::byte{1};
  const LogCheck check = check_log(files_);
  ASSERT_EQ(check.damage.size(), 2U);
  EXPECT_EQ(check.damage[0].file(), names_[0]);
  EXPECT_EQ(check.damage[0].offset(), header);
  EXPECT_EQ(check.damage[1].file(), names_[1]);
  EXPECT_GT(check.read.groups, 0U);
}

TEST_F(SegmentDamage, IsNotReportedForALogFromTheFuture) {
  auto& bytes = files_.bytes_of(names_[0]);
  bytes[8] = std::byte{2};
  const std::uint64_t hash = hash_bytes(std::span(bytes).first(80), 0);
  std::memcpy(bytes.data() + 80, &hash, sizeof(hash));
  try {
    read_log(files_, [](const Group&) {});
    FAIL() << "it was read";
  } catch (const LogFromTheFuture& refusal) {
    EXPECT_THAT(refusal.what(), HasSubstr(names_[0] + " has version 2 of the log's format"));
  }
}

}  // namespace
}  // namespace starling::log
