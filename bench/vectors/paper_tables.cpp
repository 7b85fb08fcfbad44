// SPDX-License-Identifier: Apache-2.0
// The tables: see paper_tables.hpp. Times that a paper gives in seconds are written in seconds here
// and multiplied by 1e3.
#include "starling/bench/vectors/paper_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace starling::bench {
namespace {

constexpr double not_given = 0;

KnnShape graph(std::uint32_t rows, std::uint32_t dimension, std::uint32_t k, Metric metric) {
  return {rows, dimension, rows, k, metric, true};
}

PaperTable kato() {
  const auto row = [](std::uint32_t n, double two_s, double one_s, double core_s) {
    return PaperRow{
        graph(n, 256, 100, Metric::hellinger), "Table I", {one_s * 1e3, two_s * 1e3, core_s * 1e3}};
  };
  PaperTable table{
      "kato",
      "Kato & Hosino 2009: graphs by the Hellinger distance",
      "Kato & Hosino 2009, sect. VII: GeForce GTX 280, one and two; one core of a Core i7 920 "
      "at 2.67 GHz. The last row is our own, and takes hours on a CPU: "
      "--shapes 1,2,3,4 leaves it out",
      {"GTX 280", "2 GTX 280", "i7 core"},
      {SearchMethod::kato},
      {row(10'000, 1.8, 2.7, 354.2), row(20'000, 5.7, 8.6, 1419.0), row(40'000, 17.7, 34.1, 5680.7),
       row(80'000, 68.6, 131.8, 22756.9)}};
  table.rows.push_back({graph(1'000'000, 256, 100, Metric::hellinger),
                        "our own",
                        {not_given, not_given, not_given}});
  return table;
}

PaperTable cuknn() {
  PaperTable table{"cuknn",
                   "Liang et al. 2010: few components, k 7",
                   "Liang et al. 2010, sect. 5: Tesla C1060; serial code on one core of a Xeon at "
                   "2.66 GHz. The paper does not state its queries in tab. 2 and fig. 6: 1 here",
                   {"C1060", "+ transfer", "Xeon core"},
                   {SearchMethod::cuknn},
                   {}};
  // Table 1: total seconds, with transfers.
  const auto queries = [&](std::uint32_t count, double serial_s, double total_s) {
    table.rows.push_back(
        {{32'768, 65, count, 7}, "tab. 1", {not_given, total_s * 1e3, serial_s * 1e3}});
  };
  queries(2'000, 59.63, 2.29);
  queries(4'000, 116.79, 3.47);
  queries(6'000, 174.39, 4.64);
  queries(8'000, 231.58, 5.84);
  queries(10'000, 289.27, 7.02);
  queries(12'000, 347.15, 8.17);
  // Table 2: computation and total, in milliseconds.
  const auto dimensions = [&](std::uint32_t dimension, double computation_ms, double total_ms) {
    table.rows.push_back(
        {{262'144, dimension, 1, 7}, "tab. 2, fig. 9", {computation_ms, total_ms, not_given}});
  };
  dimensions(4, 0.241, 19.994);
  dimensions(8, 0.284, 28.581);
  dimensions(16, 0.289, 50.508);
  dimensions(32, 0.336, 91.662);
  dimensions(64, 0.337, 172.970);
  // For these shapes the paper draws the times and gives no numbers.
  for (const std::uint32_t rows : {8'192u, 65'536u, 524'288u, 1'048'576u})
    table.rows.push_back({{rows, 8, 1, 7}, "fig. 6, 7", {not_given, not_given, not_given}});
  for (const std::uint32_t count : {16'384u, 65'536u, 262'144u, 1'048'576u})
    table.rows.push_back({{32'768, 8, count, 7}, "fig. 8", {not_given, not_given, not_given}});
  for (const std::uint32_t rows : {16'384u, 32'768u, 131'072u, 262'144u})
    table.rows.push_back({{rows, 8, 1, 7}, "fig. 6, 7", {not_given, not_given, not_given}});
  table.rows.push_back({{262'144, 8, 1'024, 7}, "our own", {not_given, not_given, not_given}});
  return table;
}

PaperTable polimi() {
  const auto row = [](const KnnShape& shape, double selection_s, double sort_s, double cpu_s) {
    return PaperRow{shape, "tab. 1, 2", {selection_s * 1e3, sort_s * 1e3, cpu_s * 1e3}};
  };
  PaperTable table{
      "polimi",
      "Russica & Tisato 2023: cosine; iterative selection, partial insertion sort, threshold",
      "Russica & Tisato 2023, sect. 5: a GPU (abstract: Tesla T4) and a CPU of Colab; times of "
      "163840 rows are the authors' estimates",
      {"selection", "part. sort", "CPU"},
      {SearchMethod::iterative, SearchMethod::insertion, SearchMethod::threshold},
      {row({4'096, 64, 1'024, 16, Metric::cosine}, 0.1939, 0.05845, 4.7857),
       row({16'384, 128, 4'096, 100, Metric::cosine}, 4.23653, 1.2350, 101.10642),
       row({163'840, 128, 40'960, 16, Metric::cosine}, 217.6, 119, 17920.13),
       row({16'384, 1'280, 4'096, 16, Metric::cosine}, 18.6475, 16.2107, 2795.54)}};
  // For the shape of the second row with other values of k, the paper draws the times and gives no
  // numbers.
  for (const std::uint32_t k : {1u, 4u, 16u, 32u, 64u, 128u, 256u})
    table.rows.push_back(
        {{16'384, 128, 4'096, k, Metric::cosine}, "fig. 2", {not_given, not_given, not_given}});
  return table;
}

PaperTable komarov() {
  PaperTable table{"komarov",
                   "Komarov et al. 2014: selection from many and from long rows",
                   "Komarov et al. 2014, tab. 2: Tesla C2050, selection alone from a matrix of "
                   "random numbers, no unit stated (only ms agrees with its bandwidth). Ours is "
                   "the whole search, at d 1, where distances cost least",
                   {"C2050"},
                   {SearchMethod::multiselect},
                   {}};
  struct MeanTimes {
    std::uint32_t rows;
    double of[4];  ///< times of k 64, 128, 256 and 512
  };
  const MeanTimes means[] = {{1u << 13, {138.03, 144.4, 151.36, 159.35}},
                             {1u << 14, {163.55, 170.04, 177.27, 185.91}},
                             {1u << 15, {208.83, 215.3, 222.97, 232.10}},
                             {1u << 16, {288.44, 294.85, 302.34, 311.8}}};
  for (const MeanTimes& mean : means)
    for (std::size_t i = 0; i < 4; ++i)
      table.rows.push_back({{mean.rows, 1, 1u << 13, 64u << i}, "tab. 2", {mean.of[i]}});
  // For these shapes the paper draws the times and gives no numbers: long rows (fig. 5), rows x
  // queries constant (fig. 7), few queries (fig. 9, 10).
  for (const std::uint32_t k : {64u, 512u})
    table.rows.push_back({{1u << 18, 1, 1u << 13, k}, "fig. 5", {not_given}});
  table.rows.push_back({{1u << 17, 1, 1u << 10, 512}, "fig. 7", {not_given}});
  for (const std::uint32_t queries : {8u, 32u, 128u})
    table.rows.push_back({{1u << 20, 1, queries, 64}, "fig. 9", {not_given}});
  table.rows.push_back({{1u << 20, 1, 256, 1024}, "fig. 10", {not_given}});
  return table;
}

PaperTable sbq() {
  PaperTable table{"sbq",
                   "Cordeiro 2023: few queries at once",
                   "Cordeiro 2023, ch. 5: RTX A4500 for SBQ-KNN and FAISS' flat index; cluster: 64 "
                   "processes on 8 Xeon E5462 at 2.80 GHz. Tab. 5.1: k is 32 in the table, and "
                   "2048 in the text",
                   {"SBQ-KNN", "flat index", "cluster"},
                   {SearchMethod::sbq},
                   {}};
  struct Base {
    std::uint32_t rows, dimension;
    double sbq_ms[9];  ///< times of k 32, 64, 128; each k has 1, 16, 32 queries
    double flat_ms[9];
  };
  const Base bases[] = {{70'000,
                         784,
                         {0.41, 3.07, 6.09, 0.44, 3.13, 6.7, 0.51, 3.34, 6.84},
                         {0.65, 0.69, 0.71, 0.69, 0.75, 0.76, 0.72, 0.77, 0.8}},
                        {1'275'219,
                         128,
                         {1.22, 13.4, 30.03, 1.36, 13.61, 30.33, 1.6, 13.85, 30.96},
                         {5.12, 5.44, 5.77, 5.39, 5.57, 5.87, 5.56, 5.73, 6.06}},
                        {3'000'000,
                         300,
                         {6.32, 71.96, 155.35, 6.51, 72.17, 156.74, 6.66, 72.85, 156.04},
                         {15.84, 16.82, 17.28, 15.97, 17.04, 17.49, 16.4, 17.47, 17.96}}};
  constexpr std::uint32_t counts[] = {1, 16, 32};
  for (const Base& base : bases)
    for (std::size_t i = 0; i < 9; ++i)
      table.rows.push_back({{base.rows, base.dimension, counts[i % 3], 32u << (i / 3)},
                            "tab. 5.3",
                            {base.sbq_ms[i], base.flat_ms[i], not_given}});
  const auto small = [&](std::uint32_t queries, double ms) {
    table.rows.push_back({{300'000, 128, queries, 32}, "tab. 5.2", {ms, not_given, not_given}});
  };
  small(1, 0.39);
  small(16, 3.28);
  small(32, 7.47);
  small(64, 14.74);
  small(128, 20.95);
  const auto large = [&](std::uint32_t queries, double s, double cluster_s) {
    table.rows.push_back(
        {{700'000, 128, queries, 32}, "tab. 5.1", {s * 1e3, not_given, cluster_s * 1e3}});
  };
  large(512, 0.25, 4.07);
  large(1024, 0.42, 8.06);
  large(2048, 0.78, 15.99);
  large(4096, 1.44, 31.99);
  large(8192, 2.54, 63.68);
  // The paper only draws the times of these shapes (fig. 5.4, k not stated), or gives one k in the
  // table and another in the text (tab. 5.1).
  for (const std::uint32_t queries : {2u, 3u, 4u})
    table.rows.push_back(
        {{70'000, 784, queries, 32}, "fig. 5.4", {not_given, not_given, not_given}});
  for (const std::uint32_t queries : {512u, 1024u, 2048u, 4096u, 8192u})
    table.rows.push_back(
        {{700'000, 128, queries, 2048}, "tab. 5.1's text", {not_given, not_given, not_given}});
  return table;
}

PaperTable libraries() {
  PaperTable table{"libraries",
                   "times of current libraries, and targets",
                   "the best of FAISS 1.15, cuVS 25.10 and PyTorch 2.11 measured on one H200, "
                   "November 2026, corpus and lists on the device; reach and aim: targets",
                   {"best lib.", "reach", "aim"},
                   {},
                   {}};
  const auto row = [&](const KnnShape& shape, const char* library, double best_ms, double reach_ms,
                       double aim_ms) {
    table.rows.push_back({shape, library, {best_ms, reach_ms, aim_ms}});
  };
  row({70'000, 784, 1, 64}, "cuVS", 0.095, 0.08, 0.06);
  row({70'000, 784, 16, 64}, "cuVS", 0.193, 0.15, 0.07);
  row({70'000, 784, 128, 64}, "cuVS", 0.461, 0.40, 0.20);
  row({1'275'219, 128, 1, 64}, "PyTorch", 0.376, 0.25, 0.17);
  row({1'275'219, 128, 16, 64}, "cuVS", 0.545, 0.35, 0.18);
  row({1'275'219, 128, 128, 64}, "cuVS", 2.03, 1.5, 0.6);
  row({3'000'000, 300, 1, 64}, "cuVS", 1.18, 1.0, 0.85);
  row({3'000'000, 300, 16, 64}, "cuVS", 2.00, 1.3, 0.9);
  row({3'000'000, 300, 128, 64}, "cuVS", 7.04, 6.0, 3);
  row(graph(80'000, 256, 100, Metric::l2), "FAISS", 124.5, 60, 10);
  row({163'840, 128, 40'960, 16, Metric::cosine}, "cuVS", 61, 45, 12);
  row({16'384, 1'280, 4'096, 16, Metric::cosine}, "FAISS", 3.85, 3.8, 1.5);
  row({32'768, 65, 12'000, 7}, "FAISS", 3.66, 2.0, 0.8);
  row({32'768, 8, 1'048'576, 7}, "cuVS", 125.6, 25, 17);
  row(graph(65'536, 128, 64, Metric::l2), "FAISS", 50.8, 35, 8);
  row(graph(65'536, 128, 512, Metric::l2), "PyTorch", 75.7, 45, 15);
  return table;
}

std::uint32_t scaled(std::uint32_t count, double scale) {
  return static_cast<std::uint32_t>(
      std::clamp(std::round(count * scale), 1.0, static_cast<double>(vector_rows_max)));
}

}  // namespace

const std::vector<PaperTable>& paper_tables() {
  static const std::vector<PaperTable> tables{kato(),    cuknn(), polimi(),
                                              komarov(), sbq(),   libraries()};
  return tables;
}

const PaperTable* find_paper_table(std::string_view name) {
  const auto found = std::ranges::find(paper_tables(), name, &PaperTable::name);
  return found == paper_tables().end() ? nullptr : &*found;
}

KnnShape scaled(KnnShape shape, double scale) {
  shape.rows = scaled(shape.rows, scale);
  shape.queries = scaled(shape.queries, scale);
  return shape;
}

std::string_view name_of(SearchMethod method) {
  switch (method) {
    case SearchMethod::automatic:
      return "auto";
    case SearchMethod::kato:
      return "kato";
    case SearchMethod::cuknn:
      return "cuknn";
    case SearchMethod::iterative:
      return "iterative";
    case SearchMethod::insertion:
      return "insertion";
    case SearchMethod::threshold:
      return "threshold";
    case SearchMethod::multiselect:
      return "multiselect";
    case SearchMethod::sbq:
      return "sbq";
  }
  return "";
}

}  // namespace starling::bench
