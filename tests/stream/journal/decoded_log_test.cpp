// SPDX-License-Identifier: Apache-2.0
// Tests the reading of a log on a thread of its own: the order of records, and exceptions of both
// threads.
#include "starling/stream/journal/decoded_log.hpp"

#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>

#include "starling/log/writer.hpp"
#include "starling/stream/journal/record_codec.hpp"
#include "tests/log/support/model.hpp"
#include "tests/log/support/simulated_files.hpp"

namespace starling::stream {
namespace {

/// A log of principals 0, 1, 2 ..., one in each group.
class DecodedLog : public testing::Test {
 protected:
  void write(std::uint32_t principals, std::size_t name_bytes) {
    log::Writer writer(files_, log::NewLog{.id = log::test_id(), .user = {}},
                       log::test_options(std::uint64_t{1} << 20));
    for (std::uint32_t number = 0; number < principals; ++number) {
      RecordBytes bytes;
      encode(PrincipalRecord{number, std::string(name_bytes, 'a')}, bytes);
      log::PendingGroup group(writer.next_sequence());
      group.append(record_type::principal, record_version, bytes);
      writer.commit(group);
    }
  }
  DecodedHandler collect() {
    return [this](const DecodedRecords& part) {
      for (const JournalRecord& record : part.records)
        found_.push_back(std::get<PrincipalRecord>(record).principal);
    };
  }
  void expect_found(std::uint32_t principals) {
    ASSERT_EQ(found_.size(), principals);
    for (std::uint32_t number = 0; number < principals; ++number) EXPECT_EQ(found_[number], number);
  }

  log::SimulatedFiles files_;
  std::vector<std::uint32_t> found_;
};

TEST_F(DecodedLog, GivesAllRecordsInOrder) {
  write(500, 10);
  const log::LogSummary summary = read_decoded(files_, {}, collect());
  expect_found(500);
  EXPECT_EQ(summary.records, 500U);
  found_.clear();
  read_decoded_here(files_, {}, collect());
  expect_found(500);
}

TEST_F(DecodedLog, GivesSmallGroupsTogether) {
  write(500, 10);
  std::vector<std::size_t> parts;
  const auto count = [&](const DecodedRecords& part) { parts.push_back(part.records.size()); };
  read_decoded(files_, {}, count);
  read_decoded_here(files_, {}, count);
  EXPECT_THAT(parts, testing::ElementsAre(500, 500));
}

TEST_F(DecodedLog, GivesNothingOfAnEmptyLog) {
  read_decoded(files_, {}, collect());
  expect_found(0);
}

TEST_F(DecodedLog, WaitsForItsHandlerAndLosesNothing) {
  write(30, std::size_t{5} << 20);  // more bytes than may wait
  read_decoded(files_, {}, collect());
  expect_found(30);
}

TEST_F(DecodedLog, EndsWhenItsHandlerThrowsWhileItWaits) {
  write(30, std::size_t{5} << 20);
  const auto refuse = [](const DecodedRecords&) { throw std::runtime_error("refused"); };
  EXPECT_THROW(read_decoded(files_, {}, refuse), std::runtime_error);
}

TEST_F(DecodedLog, ThrowsDamageAfterPartsBeforeIt) {
  write(30, std::size_t{3} << 20);  // two principals in a part
  files_.bytes_of(log::segment_names(files_)[20])[1000] ^= std::byte{1};
  EXPECT_THROW(read_decoded(files_, {}, collect()), log::DamagedLog);
  expect_found(20);
}

}  // namespace
}  // namespace starling::stream
