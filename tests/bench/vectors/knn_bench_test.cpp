// SPDX-License-Identifier: Apache-2.0
// Runs `starling bench knn` on very small shapes. Checks the tables, the text, the JSON, and that
// the benchmark detects a searcher with wrong lists. Checks no times.
#include "starling/bench/vectors/knn_bench.hpp"

#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <stdexcept>

#include <gmock/gmock.h>
#include <simdjson.h>

#include "starling/bench/vectors/knn_check.hpp"
#include "starling/bench/vectors/knn_data.hpp"
#include "starling/bench/vectors/knn_table.hpp"
#include "starling/cpu/backend.hpp"

namespace starling::bench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr unsigned threads = 2;

std::unique_ptr<VectorSearcher> make_searcher() {
  return cpu::make_vector_searcher(threads);
}

/// The time of a graph grows with the square of its rows, so graphs are scaled down further.
KnnTableOptions small(const std::string& table) {
  return {.table = table, .engine_name = "cpu", .scale = table == "kato" ? 0.001 : 0.01, .runs = 1};
}

std::string output_of(const KnnTableOptions& options) {
  std::ostringstream out;
  const auto searcher = make_searcher();
  write_knn_table(options, *searcher, out);
  return out.str();
}

/// Returns the lists of the CPU searcher with one entry spoilt as `error` says. Error::none spoils
/// no entry.
class ErringSearcher final : public VectorSearcher {
 public:
  enum class Error { none, score, row, unwritten };
  explicit ErringSearcher(Error error) : error_(error) {}

  std::string_view name() const override { return "erring"; }
  bool supports(SearchMethod method) const override { return method == SearchMethod::automatic; }
  void set_corpus(Metric metric, VectorsView corpus) override {
    searcher_->set_corpus(metric, corpus);
  }
  void search(const VectorSearch& search, std::span<VectorNeighbor> lists) override {
    const VectorNeighbor before = lists.back();
    searcher_->search(search, lists);
    if (error_ == Error::score) lists[1].score = std::nextafter(lists[1].score, 9.0f);
    if (error_ == Error::row) lists[0].row ^= 1;
    if (error_ == Error::unwritten) lists.back() = before;
  }

 private:
  std::unique_ptr<VectorSearcher> searcher_ = make_searcher();
  Error error_;
};

constexpr KnnShape tiny{300, 7, 20, 5};

std::string error_of(ErringSearcher::Error error) {
  ErringSearcher searcher(error);
  KnnBench bench(searcher, 1, 2);
  bench.set_shape(tiny);
  try {
    EXPECT_TRUE(bench.measure(SearchMethod::automatic).has_value());
  } catch (const std::runtime_error& thrown) {
    return thrown.what();
  }
  return "";
}

class PaperTables : public ::testing::TestWithParam<const char*> {};

TEST_P(PaperTables, ShapesAreWellFormed) {
  const PaperTable* table = find_paper_table(GetParam());
  ASSERT_NE(table, nullptr);
  EXPECT_FALSE(table->source.empty());
  EXPECT_FALSE(table->rows.empty());
  for (const PaperRow& row : table->rows) {
    const KnnShape& shape = row.shape;
    EXPECT_EQ(row.published_ms.size(), table->published.size()) << row.source;
    EXPECT_FALSE(row.source.empty());
    EXPECT_TRUE(shape.rows > 0 && shape.rows <= vector_rows_max && shape.queries > 0);
    EXPECT_TRUE(shape.dimension > 0 && shape.dimension <= dimension_max);
    EXPECT_TRUE(shape.k > 0 && shape.k <= vector_k_max && shape.k <= shape.rows);
    EXPECT_TRUE(!shape.is_graph || shape.queries == shape.rows);
    for (const double ms : row.published_ms) EXPECT_TRUE(ms >= 0 && ms < 1e8);
  }
}

TEST_P(PaperTables, ASmallOnePrintsItsRows) {
  const PaperTable* table = find_paper_table(GetParam());
  const std::string text = output_of(small(GetParam()));
  EXPECT_THAT(text, AllOf(StartsWith("engine cpu; "), HasSubstr("scaled by 0.0")));
  for (const std::string& head : table->published) EXPECT_THAT(text, HasSubstr(head));
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  EXPECT_EQ(lines, table->rows.size() + 5);
}

TEST_P(PaperTables, ItsJsonIsRead) {
  KnnTableOptions options = small(GetParam());
  options.json = true;
  options.shapes = {1, find_paper_table(GetParam())->rows.size()};
  const simdjson::padded_string text(output_of(options));
  simdjson::dom::parser parser;
  const simdjson::dom::element json = parser.parse(text);
  EXPECT_EQ(std::string_view(json["table"]), GetParam());
  EXPECT_GT(double(json["read_gb_per_s"]), 0);
  EXPECT_GT(double(json["steps_per_s"]), 0);
  const simdjson::dom::array shapes = json["shapes"];
  ASSERT_EQ(shapes.size(), 2u);
  for (const simdjson::dom::element shape : shapes) {
    EXPECT_GT(std::uint64_t(shape["rows"]), 0u);
    EXPECT_GT(double(shape["floor_steps_ms"]), 0);
    for (const simdjson::dom::element time : simdjson::dom::array(shape["times"])) {
      const bool is_automatic = std::string_view(time["method"]) == "auto";
      EXPECT_TRUE(time["device_ms"].is_null());
      EXPECT_EQ(time["host_ms"].is_null(), !is_automatic);
      EXPECT_EQ(time["by_floor"].is_null(), !is_automatic);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PaperTables,
                         ::testing::Values("kato", "cuknn", "polimi", "komarov", "sbq",
                                           "libraries"),
                         [](const auto& table) { return std::string(table.param); });

TEST(KnnTable, PublishedFiguresStandBesideTheFullSize) {
  KnnTableOptions options = small("polimi");
  options.scale = 1;
  options.shapes = {1};
  EXPECT_THAT(output_of(options), AllOf(HasSubstr(" 193.9 "), HasSubstr(" 58.45 "),
                                        HasSubstr(" 4786 "), Not(HasSubstr("scaled"))));
}

TEST(KnnTable, WhatThereIsNotIsNamed) {
  EXPECT_THROW(output_of(small("nonsense")), std::invalid_argument);
  KnnTableOptions options = small("kato");
  options.shapes = {6};
  EXPECT_THROW(output_of(options), std::invalid_argument);
}

TEST(KnnBench, AWrongListIsFoundAndSaid) {
  EXPECT_EQ(error_of(ErringSearcher::Error::none), "");
  EXPECT_THAT(error_of(ErringSearcher::Error::score),
              HasSubstr("erring by auto found a wrong list: of query 0, entry 1 is row "));
  EXPECT_THAT(error_of(ErringSearcher::Error::row), HasSubstr("of query 0, entry 0 is row "));
  EXPECT_THAT(error_of(ErringSearcher::Error::unwritten), HasSubstr("left list 19 unwritten"));
}

TEST(KnnBench, AMethodThatThereIsNotHasNoTime) {
  const auto searcher = make_searcher();
  KnnBench bench(*searcher, 1, 2);
  bench.set_shape(tiny);
  EXPECT_FALSE(bench.measure(SearchMethod::kato).has_value());
  EXPECT_EQ(bench.measure(SearchMethod::automatic)->runs, 2);
}

TEST(KnnBench, AGraphsQueryIsNotItsOwnNeighbour) {
  const auto searcher = make_searcher();
  KnnBench bench(*searcher, 1, 1);
  bench.set_shape({200, 5, 200, 9, Metric::cosine, true});
  EXPECT_TRUE(bench.measure(SearchMethod::automatic).has_value());
}

TEST(KnnFloor, TheLargerOfBytesAndSteps) {
  const DeviceRates rates{.read_gb_per_s = 1, .steps_per_s = 1e9};
  const KnnFloor few = floor_of({1'000'000, 10, 1, 1}, rates);
  EXPECT_NEAR(few.bytes_ms, 40, 0.01);
  EXPECT_NEAR(few.steps_ms, 10, 1e-9);
  EXPECT_EQ(few.ms(), few.bytes_ms);
  EXPECT_EQ(floor_of({1'000'000, 10, 100, 1}, rates).ms(), 1000);
  EXPECT_EQ(floor_of({1'000'000, 10, 1, 1}, {}).ms(), 0);
}

TEST(KnnCheck, ListsOfHandMadeRows) {
  const std::vector<float> rows{0, 3, 1, 1};
  const VectorsView corpus{rows, 1};
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(
      exact_list(Metric::l2, corpus, std::vector{1.0f}, 5, no_row),
      ::testing::ElementsAre(VectorNeighbor{0, 2}, VectorNeighbor{0, 3}, VectorNeighbor{1, 0},
                             VectorNeighbor{4, 1}, VectorNeighbor{infinity, no_row}));
  EXPECT_THAT(exact_list(Metric::l2, corpus, std::vector{1.0f}, 1, 2),
              ::testing::ElementsAre(VectorNeighbor{0, 3}));
  EXPECT_THAT(exact_list(Metric::inner_product, corpus, std::vector{2.0f}, 2, no_row),
              ::testing::ElementsAre(VectorNeighbor{-6, 1}, VectorNeighbor{-2, 2}));
}

TEST(KnnData, TheSameSeedGivesTheSameRowsAndOthersOthers) {
  const auto rows = random_rows(Metric::l2, 100, 3, 7);
  EXPECT_EQ(rows, random_rows(Metric::l2, 100, 3, 7));
  EXPECT_NE(rows, random_rows(Metric::l2, 100, 3, 8));
  EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), rows.size());
}

}  // namespace
}  // namespace starling::bench
