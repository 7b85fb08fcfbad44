// SPDX-License-Identifier: Apache-2.0
// Compares the published times in the tables of `starling bench knn` and `bench selection` with a
// second transcription, which was made from the papers without a look at the tables.
#include "starling/bench/vectors/paper_tables.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "starling/bench/vectors/selection_table.hpp"
#include "tests/bench/vectors/paper_transcription.hpp"

namespace starling::bench {
namespace {

// The transcription's column names of each table, in the order of the table's columns.
const std::map<std::string, std::vector<std::string>> columns_of{
    {"kato", {"one GPU", "two GPUs", "CPU"}},  {"cuknn", {"computation", "total", "serial"}},
    {"polimi", {"selection", "sort", "CPU"}},  {"komarov", {"GPU"}},
    {"sbq", {"SBQ", "flat index", "cluster"}},
};

bool is_near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * b;
}

bool has_shape(const KnnShape& shape, const PublishedTime& time) {
  return shape.rows == time.rows && shape.dimension == time.dimension &&
         shape.queries == time.queries && shape.k == time.k;
}

std::string text_of(const PublishedTime& time) {
  std::ostringstream text;
  text << time.table << ", " << time.source << ": " << time.rows << " x " << time.dimension << ", "
       << time.queries << " queries, k " << time.k << ", " << time.column << ": " << time.ms;
  return text.str();
}

class PublishedTimes : public ::testing::TestWithParam<std::string> {
 protected:
  const PaperTable& table() const { return *find_paper_table(GetParam()); }
  const std::vector<std::string>& columns() const { return columns_of.at(GetParam()); }

  /// Returns the index of the time's column, or columns().size() if the table has no such column.
  std::size_t column_of(const PublishedTime& time) const {
    return static_cast<std::size_t>(std::ranges::find(columns(), time.column) - columns().begin());
  }
};

TEST_P(PublishedTimes, OfTheTranscriptionAreInTheTable) {
  int compared = 0;
  for (const PublishedTime& time : published_times()) {
    if (time.table != GetParam()) continue;
    const std::size_t column = column_of(time);
    ASSERT_LT(column, columns().size()) << text_of(time);
    EXPECT_TRUE(std::ranges::any_of(table().rows,
                                    [&](const PaperRow& row) {
                                      return has_shape(row.shape, time) &&
                                             is_near(row.published_ms[column], time.ms);
                                    }))
        << text_of(time) << " is not in the table";
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

TEST_P(PublishedTimes, OfTheTableAreInTheTranscription) {
  for (const PaperRow& row : table().rows)
    for (std::size_t column = 0; column < columns().size(); ++column) {
      if (row.published_ms[column] == 0) continue;
      EXPECT_TRUE(std::ranges::any_of(published_times(),
                                      [&](const PublishedTime& time) {
                                        return time.table == GetParam() &&
                                               has_shape(row.shape, time) &&
                                               column_of(time) == column &&
                                               is_near(row.published_ms[column], time.ms);
                                      }))
          << row.source << ", " << row.shape.rows << " x " << row.shape.dimension << ", "
          << row.shape.queries << " queries, k " << row.shape.k << ": " << row.published_ms[column]
          << " is not in the transcription";
    }
}

INSTANTIATE_TEST_SUITE_P(Papers, PublishedTimes,
                         ::testing::Values("kato", "cuknn", "polimi", "komarov", "sbq"),
                         [](const auto& table) { return table.param; });

TEST(SelectionTable, ItsPublishedTimesAreThoseOfTheTranscription) {
  SelectionTableOptions options;
  options.json = true;
  options.read_gb_per_s = 1;
  options.time_ms = [](auto, auto, auto, auto) { return std::vector{1.0}; };
  std::ostringstream out;
  write_selection_table(options, out);
  std::istringstream lines(out.str());
  simdjson::dom::parser parser;
  int compared = 0;
  for (std::string line; std::getline(lines, line);) {
    const simdjson::dom::element row = parser.parse(line);
    const double c2050_ms = row["c2050_ms"];
    if (c2050_ms == 0) continue;
    EXPECT_TRUE(std::ranges::any_of(published_times(), [&](const PublishedTime& time) {
      return time.table == "komarov" && time.rows == std::uint64_t(row["columns"]) &&
             time.queries == std::uint64_t(row["rows"]) && time.k == std::uint64_t(row["k"]) &&
             is_near(c2050_ms, time.ms);
    })) << line;
    ++compared;
  }
  EXPECT_EQ(compared, 16);
}

}  // namespace
}  // namespace starling::bench
