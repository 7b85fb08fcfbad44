// SPDX-License-Identifier: Apache-2.0
// Starts servers from logs that the first program with a log wrote. Every later program must start
// from them, hold the same and answer the same. `STARLING_JOURNAL_WRITE_FIXTURE=1 test_journal
// --gtest_filter=*Fixtures*` writes the logs and the texts of the answers, for a new version of
// the records.
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/log/recovery.hpp"
#include "starling/log/segment.hpp"
#include "starling/log/system_files.hpp"
#include "starling/log/writer.hpp"
#include "starling/stream/journal/record_codec.hpp"
#include "tests/stream/journal/fixture_log.hpp"
#include "tests/stream/journal/journal_world.hpp"
#include "tests/stream/journal/told_state.hpp"

namespace starling::stream {
namespace {

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

class Fixtures : public testing::TestWithParam<const char*> {};

TEST_P(Fixtures, OfTheFirstVersionGiveTheSameServerForEver) {
  const std::string name = GetParam();
  const auto answers = fixture_folder(name) / "answers.txt";
  if (std::getenv("STARLING_JOURNAL_WRITE_FIXTURE") != nullptr) {
    write_fixture(name);
    std::ofstream file(answers);
    for (const std::string& line : told_by_fixture(name)) file << line << '\n';
  }
  EXPECT_EQ(told_by_fixture(name), lines_of(answers));
}

INSTANTIATE_TEST_SUITE_P(Spaces, Fixtures, testing::ValuesIn(fixture_names));

TEST(FixtureRecords, AreOfAllTypesAndOfAllChanges) {
  std::set<std::size_t> records;
  std::set<std::size_t> changes;
  for (const std::string name : fixture_names)
    log::read_log(*log::open_folder(fixture_folder(name), log::FolderUse::read),
                  [&](const log::Group& group) {
                    for (const log::Record& record : group.records) {
                      const JournalRecord decoded = decode(record);
                      records.insert(decoded.index());
                      if (const auto* request = std::get_if<RequestRecord>(&decoded))
                        changes.insert(request->change.index());
                    }
                  });
  // RunRecord and OutgrownRecord are newer than the fixtures.
  EXPECT_EQ(records.size() + 2, std::variant_size_v<JournalRecord>);
  EXPECT_EQ(changes.size(), std::variant_size_v<Change>);
}

TEST(FixtureState, HasTheTombstoneOfARemovedObject) {
  const JournalFolder folder;
  copy_fixture("planar2", folder.path());
  ServerOptions options = fixture_options("planar2", folder.path());
  options.sessions.sessions_max = 10;  // more than the log has
  const RunningServer server(options);
  auto client = server.client();
  Fixes before;
  before.add(6, 899, 0, 0);
  EXPECT_EQ(client.update(before.batch()).value().late, 1u);
  Fixes after;
  after.add(6, 901, 0, 0);
  EXPECT_EQ(client.update(after.batch()).value().accepted, 1u);
}

/// Starts a server from a copy of a fixture that `change` has changed, and returns why it refuses.
std::string refusal_after(const std::function<void(const JournalFolder&)>& change) {
  const JournalFolder folder;
  copy_fixture("planar2", folder.path());
  change(folder);
  try {
    Server(fixture_options("planar2", folder.path()), make_engine());
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing is refused";
}

/// Appends an empty record to the log, and returns why a server refuses it.
std::string refusal_of_record(log::RecordType type, std::uint16_t version) {
  return refusal_after([&](const JournalFolder& folder) {
    const auto files = log::open_folder(folder.path(), log::FolderUse::write);
    const log::LogSummary summary = log::recover_log(*files, [](const log::Group&) {});
    log::Writer writer(*files, *summary.end, {.segment_bytes = 4096});
    log::PendingGroup group(writer.next_sequence());
    group.append(type, version, std::span<const std::byte>());
    writer.commit(group);
  });
}

TEST(FromTheFuture, ALogOfALaterFormatIsRefusedByItsVersion) {
  const std::string refusal = refusal_after([](const JournalFolder& folder) {
    // The version follows the magic number; the hash follows these 80 bytes.
    std::fstream file(folder.files().front(), std::ios::binary | std::ios::in | std::ios::out);
    std::array<char, 88> front{};
    file.read(front.data(), front.size());
    const std::uint32_t later = log::format_version + 1;
    std::memcpy(front.data() + 8, &later, sizeof(later));
    const std::uint64_t hash = log::hash_bytes(std::as_bytes(std::span(front)).first(80), 0);
    std::memcpy(front.data() + 80, &hash, sizeof(hash));
    file.seekp(0);
    file.write(front.data(), front.size());
  });
  EXPECT_THAT(refusal, testing::HasSubstr("00000000000000000001.log has version 2"));
  EXPECT_THAT(refusal, testing::HasSubstr("Use a later version of Starling"));
}

TEST(FromTheFuture, ARecordOfAnUnknownTypeIsRefused) {
  const std::string refusal = refusal_of_record(log::RecordType{999}, record_version);
  EXPECT_THAT(refusal, testing::HasSubstr("of the log is whole, but this program cannot read it"));
  EXPECT_THAT(refusal, testing::HasSubstr("start the program that wrote it, or a later one"));
}

TEST(FromTheFuture, ARecordOfALaterVersionIsRefused) {
  for (const auto type : {record_type::epoch, record_type::request, record_type::published})
    EXPECT_THAT(refusal_of_record(type, record_version + 1),
                testing::HasSubstr("of the log is whole, but this program cannot read it"));
}

}  // namespace
}  // namespace starling::stream
