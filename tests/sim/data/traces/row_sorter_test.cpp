// SPDX-License-Identifier: Apache-2.0
// Compares the external sort with std::stable_sort, with memory for one row up to memory for all
// rows.
#include "starling/sim/data/traces/row_sorter.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <random>
#include <system_error>

#include <gmock/gmock.h>
#include <sys/resource.h>

#include "tests/sim/data/traces/sorted_rows.hpp"
#include "tests/sim/data/traces/trace_fixture.hpp"

namespace starling::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Returns random rows with at most `times` different times, so that many times are equal. The x of
/// each row is the row's number, which is unique.
std::vector<TraceRow> random_rows(std::size_t count, std::uint64_t times) {
  constexpr unsigned seed = 71;
  std::mt19937_64 random(seed);
  std::vector<TraceRow> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    rows[i].id = ObjectId{random() % 50};
    rows[i].time_us = static_cast<std::int64_t>(random() % times) - 100;
    rows[i].position = {static_cast<double>(i), 0.5, -1};
    rows[i].tags = static_cast<std::uint32_t>(i);
    rows[i].has_tags = i % 3 == 0;
  }
  return rows;
}

std::vector<TraceRow> stably_sorted(std::vector<TraceRow> rows, RowOrder order) {
  if (order == RowOrder::time) std::ranges::stable_sort(rows, {}, &TraceRow::time_us);
  if (order == RowOrder::object_and_time)
    std::ranges::stable_sort(rows, [](const TraceRow& a, const TraceRow& b) {
      return std::pair(to_number(a.id), a.time_us) < std::pair(to_number(b.id), b.time_us);
    });
  return rows;
}

bool same(const TraceRow& a, const TraceRow& b) {
  return a.id == b.id && a.time_us == b.time_us && a.position == b.position && a.tags == b.tags &&
         a.has_tags == b.has_tags;
}

void expect_sorted(const std::vector<TraceRow>& rows, const SortOptions& options) {
  const std::vector<TraceRow> found = sorted(rows, options);
  const std::vector<TraceRow> expected = stably_sorted(rows, options.order);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_TRUE(same(found[i], expected[i])) << i;
}

TEST(RowSorter, GivesTheSameRowsWhateverItsMemory) {
  for (const RowOrder order : {RowOrder::file, RowOrder::time, RowOrder::object_and_time})
    for (const std::size_t count : {0u, 1u, 2u, 31u, 1000u, 20'000u})
      for (const std::size_t memory_bytes : {0u, 72u, 144u, 10'000u, 300'000u, 3'000'000u}) {
        if (memory_bytes < 1000 && count > 1000) continue;  // would take one pass for each row
        SCOPED_TRACE(std::to_string(count) + " rows in " + std::to_string(memory_bytes));
        expect_sorted(random_rows(count, 300), {.order = order, .memory_bytes = memory_bytes});
      }
}

TEST(RowSorter, RowsOfOneTimeKeepTheFilesOrder) {
  expect_sorted(random_rows(5000, 1), {.memory_bytes = 20'000});
  expect_sorted(random_rows(5000, 2), {.memory_bytes = 20'000});
}

TEST(RowSorter, AnOrderedFileIsOneRun) {
  for (const RowOrder order : {RowOrder::file, RowOrder::time}) {
    RowRuns runs(order, "");
    std::vector<TraceRow> rows = stably_sorted(random_rows(1000, 100), order);
    for (std::size_t begin = 0; begin < rows.size(); begin += 100) {
      runs.begin_run();
      runs.append(std::span(rows).subspan(begin, 100));
    }
    EXPECT_EQ(runs.runs().size(), 1u);
    runs.begin_run();
    runs.append(std::span(rows).first(1));
    EXPECT_EQ(runs.runs().size(), order == RowOrder::file ? 1u : 2u);
  }
}

TEST(RowSorter, KnowsItsRowsAndTheNewest) {
  const std::vector<TraceRow> rows = random_rows(1000, 100'000);
  const std::int64_t newest_us = std::ranges::max_element(rows, {}, &TraceRow::time_us)->time_us;
  for (const std::size_t memory_bytes : {1000u, 1'000'000u}) {
    const auto stream = stream_of(rows, {.memory_bytes = memory_bytes});
    EXPECT_EQ(stream->row_count(), 1000u);
    EXPECT_EQ(stream->newest_us(), newest_us);
  }
}

TEST(RowSorter, LeavesNoFileBehindNotEvenWhileItRuns) {
  const TemporaryDirectory directory;
  const auto stream =
      stream_of(random_rows(1000, 1000), {.memory_bytes = 4000, .temp_dir = directory.path()});
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  EXPECT_EQ(rows_in(*stream).size(), 1000u);
}

TEST(RowSorter, SaysWhereItCannotMakeItsFile) {
  const TemporaryDirectory directory;
  const std::string absent = directory.path("absent");
  EXPECT_THAT([&] { sorted(random_rows(1000, 1000), {.memory_bytes = 4000, .temp_dir = absent}); },
              ThrowsMessage<std::system_error>(
                  AllOf(HasSubstr(absent + ": the temporary file for sorting cannot be made"),
                        HasSubstr("--temp-dir"), HasSubstr("No such file or directory"))));
}

TEST(RowSorter, AFullDiskIsAnError) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{16'384, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THAT([&] { sorted(random_rows(1000, 1000), {.memory_bytes = 4000}); },
              ThrowsMessage<std::system_error>(
                  HasSubstr("the temporary file for sorting cannot be written")));
  setrlimit(RLIMIT_FSIZE, &before);
}

}  // namespace
}  // namespace starling::sim
