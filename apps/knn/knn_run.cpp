// SPDX-License-Identifier: Apache-2.0
// Reads and answers the queries in batches, and computes a graph in tiles, so that memory holds all
// points but never more than one batch of queries and lists: see knn_run.hpp.
#include "starling/apps/knn/knn_run.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "starling/apps/shared/process/stop_signals.hpp"
#include "starling/apps/shared/progress_line.hpp"
#include "starling/knn/vectors/row_offset.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/text_output.hpp"
#include "starling/sim/data/vectors/label_file.hpp"
#include "starling/sim/data/vectors/value_file.hpp"
#include "starling/sim/data/vectors/vector_file.hpp"
#include "starling/sim/data/vectors/vector_formats.hpp"
#include "starling/sim/data/vectors/vector_results.hpp"

namespace starling::apps {
namespace {

using Clock = std::chrono::steady_clock;

// Batches are as large as these limits allow, because many queries at a time keep a GPU busy.
constexpr std::size_t batch_components_max = std::size_t{1} << 23;  // 32 MiB
constexpr std::size_t batch_neighbors_max = std::size_t{1} << 22;   // 32 MiB
constexpr std::uint32_t batch_rows_max = 1 << 16;

std::uint32_t batch_rows(std::size_t per_row, std::size_t limit) {
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(limit / per_row, 1, batch_rows_max));
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void prepare(const sim::VectorFile& file, Metric metric, VectorsView raw,
             std::span<float> prepared) {
  if (const auto fault = prepare_vectors(metric, raw, prepared))
    throw sim::InputError(file.place_of(fault->row, fault->column) + " " +
                          std::string(sentence_of(fault->reason)));
}

class KnnRun {
 public:
  explicit KnnRun(const KnnPlan& plan)
      : plan_(plan),
        stopping_(ends_at_signal(plan) ? std::make_unique<Stopping>() : nullptr),
        points_(sim::open_vectors(plan.points)),
        dimension_(points_->dimension()),
        merged_(dimension_) {
    if (!plan_.queries.empty()) open_queries();
    if (!plan_.labels.empty()) labels_ = sim::read_labels(plan_.labels);
    if (!plan_.values.empty()) values_ = sim::read_values(plan_.values);
    if (const auto rows = points_->row_count()) check_counts(*rows);
    choice_ = choose_searcher(plan_.searcher);
    if (plan_.radius) choice_.why = "the engine that searches by radius";
    open_outputs();
  }

  void run() {
    const auto start = Clock::now();
    take_points();
    const double reading_s = seconds_since(start);
    const auto searching = Clock::now();
    if (plan_.radius) set_corpus();
    if (queries_)
      answer_queries();
    else if (plan_.radius)
      answer_radius(corpus_, 0, point_count_);
    else
      answer_points();
    progress_.clear();
    for (const auto& output : outputs_) output->finish();
    stopping_.reset();  // no signal ends the program from here on: the files are complete
    for (const auto& output : outputs_) output->close();
    const std::string asked =
        plan_.radius ? std::to_string(neighbors_found_) + " neighbours within the radius in all"
                     : std::to_string(plan_.k) + " neighbours each";
    std::fprintf(stderr,
                 "knn: %llu queries, %s, of %u points with %u components by %s; "
                 "answered by %s (%s): points read in %.3f s, queries answered in %.3f s\n",
                 static_cast<unsigned long long>(queries_done_), asked.c_str(), point_count_,
                 dimension_, std::string(name_of(plan_.metric)).c_str(),
                 std::string(choice_.searcher->name()).c_str(), choice_.why.c_str(), reading_s,
                 seconds_since(searching));
  }

 private:
  struct Stopping {
    StopSignals signals;
    EndAtSignal end{signals, [] {}};
  };

  /// Returns true if no file is changed before the end. A signal may then report that nothing was
  /// written.
  static bool ends_at_signal(const KnnPlan& plan) {
    return std::ranges::all_of(std::array{&plan.out, &plan.out_ids, &plan.out_distances,
                                          &plan.out_votes, &plan.out_values},
                               [](const std::string* path) {
                                 return path->empty() || sim::TextOutput::is_ordinary(*path);
                               });
  }

  void open_queries() {
    queries_ = sim::open_vectors(plan_.queries);
    if (queries_->dimension() != dimension_)
      throw sim::InputError(plan_.queries + ": its vectors have " +
                            std::to_string(queries_->dimension()) + " components, and those of " +
                            plan_.points + " have " + std::to_string(dimension_));
  }

  /// Throws sim::InputError if a file of labels or values has not exactly one entry for each row.
  void check_counts(std::uint32_t rows) const {
    const auto check = [&](const std::string& path, std::size_t count, const std::string& word) {
      if (path.empty() || count == rows) return;
      throw sim::InputError(path + ": has " + std::to_string(count) + " " + word + "s, and " +
                            plan_.points + " has " + std::to_string(rows) +
                            " rows; each row needs one " + word);
    };
    check(plan_.labels, labels_.size(), "label");
    check(plan_.values, values_.size(), "value");
  }

  void open_outputs() {
    const sim::ListShape shape{plan_.metric, plan_.k, (queries_ ? queries_ : points_)->row_count()};
    const auto open = [&](const char* flag, const std::string& path, const auto& make) {
      if (path.empty()) return;
      try {
        outputs_.push_back(make(path));
      } catch (const sim::UsageError& error) {
        throw sim::UsageError(std::string(flag) + ": " + error.what());
      }
    };
    open("--out", plan_.out, [&](const std::string& path) {
      auto text = plan_.out_holds_votes    ? sim::make_vote_csv(path, shape, labels_)
                  : plan_.out_holds_values ? sim::make_value_csv(path, shape, regression())
                                           : sim::make_list_csv(path, shape);
      text_ = text.get();
      return text;
    });
    open("--out-ids", plan_.out_ids,
         [&](const std::string& path) { return sim::make_id_array(path, shape); });
    open("--out-distances", plan_.out_distances,
         [&](const std::string& path) { return sim::make_distance_array(path, shape); });
    open("--out-votes", plan_.out_votes,
         [&](const std::string& path) { return sim::make_vote_file(path, shape, labels_); });
    open("--out-values", plan_.out_values,
         [&](const std::string& path) { return sim::make_value_file(path, shape, regression()); });
  }

  sim::Regression regression() const { return {values_, plan_.regression}; }

  void take_points() {
    try {
      corpus_ = prepared_points();
    } catch (const std::bad_alloc&) {
      throw_points_too_large();
    }
    point_count_ = corpus_.rows();
    check_counts(point_count_);
  }

  [[noreturn]] void throw_points_too_large() const {
    throw std::runtime_error(plan_.points +
                             ": its vectors do not fit into memory; split the file and merge the "
                             "lists by distance");
  }

  /// Gives the points to the searcher together with the first queries: a GPU searches the first
  /// rows while it receives the others. Then frees the points on the host.
  void search_first(const VectorSearch& search, std::span<VectorNeighbor> lists) {
    try {
      choice_.searcher->set_corpus_and_search(plan_.metric, corpus_, search, lists);
    } catch (const std::bad_alloc&) {
      throw_points_too_large();
    }
    free_points();
  }

  VectorsView prepared_points() {
    // Preparing does not change rows for these two metrics. If the rows of the file can be used in
    // place, the loop below only checks them.
    const bool is_raw = plan_.metric == Metric::l2 || plan_.metric == Metric::inner_product;
    const auto in_place = is_raw ? points_->in_place() : std::nullopt;
    const auto rows = points_->row_count();
    if (rows && !in_place) prepared_.reserve(std::size_t{*rows} * dimension_);
    const std::uint32_t rows_max = batch_rows(dimension_, batch_components_max);
    std::uint64_t rows_read = 0;
    const bool is_text = sim::array_format_of(plan_.points) == sim::ArrayFormat::csv;
    OffsetChoice choice(plan_.metric, dimension_, is_text);
    std::vector<double> exact;  // rows as float64, kept while an offset may still be chosen
    for (;;) {
      const VectorsView raw = points_->next(rows_max);
      if (raw.components.empty()) break;
      const std::size_t begin = in_place ? 0 : prepared_.size();
      prepared_.resize(begin + raw.components.size());
      prepare(*points_, plan_.metric, raw, std::span(prepared_).subspan(begin));
      if (const auto rows_exact = points_->exact_rows(); !rows_exact.empty()) {
        merged_.add(rows_exact, raw.components);
        choice.see(rows_exact);
        if (choice.is_open())
          exact.insert(exact.end(), rows_exact.begin(), rows_exact.end());
        else
          exact = {};
      }
      rows_read += raw.rows();
      progress_.show("reading", rows_read, rows.value_or(0));
    }
    if (!exact.empty()) offset_ = choice.offset();
    if (!offset_.empty()) {
      subtract_offset(offset_, exact, prepared_);
      merged_.replace_rounded(prepared_);
    }
    warn_of_merged(rows_read);
    if (!in_place) return {prepared_, dimension_};
    prepared_ = {};
    return *in_place;
  }

  void warn_of_merged(std::uint64_t rows) {
    const std::uint64_t merged = merged_.count();
    merged_ = MergedRows(dimension_);
    if (merged == 0) return;
    progress_.clear();
    std::fprintf(stderr,
                 "knn: warning: %llu of the %llu rows of %s are equal to another row once rounded "
                 "to float32, although they differ; subtract a number from each column, so that "
                 "its numbers lie near 0\n",
                 static_cast<unsigned long long>(merged), static_cast<unsigned long long>(rows),
                 plan_.points.c_str());
  }

  /// Returns the greatest number of rows in a batch of queries or in a tile of a graph.
  std::uint32_t query_batch_rows() const {
    return std::min(batch_rows(dimension_, batch_components_max),
                    batch_rows(plan_.k, batch_neighbors_max));
  }

  void answer_queries() {
    const std::uint64_t total = queries_->row_count().value_or(0);
    std::pmr::memory_resource& memory = choice_.searcher->host_memory();
    std::pmr::vector<float> prepared{&memory};
    std::pmr::vector<VectorNeighbor> lists{&memory};
    for (;;) {
      VectorsView raw = queries_->next(query_batch_rows());
      if (raw.components.empty()) return;
      prepared.resize(raw.components.size());
      if (!offset_.empty()) {
        std::ranges::copy(raw.components, prepared.begin());
        subtract_offset(offset_, queries_->exact_rows(), prepared);
        raw.components = prepared;
      }
      prepare(*queries_, plan_.metric, raw, prepared);
      if (plan_.radius) {
        answer_radius({prepared, dimension_}, no_row, total);
        continue;
      }
      lists.resize(std::size_t{raw.rows()} * plan_.k);
      answer({prepared, dimension_}, lists, total);
    }
  }

  void set_corpus() {
    try {
      choice_.searcher->set_corpus(plan_.metric, corpus_);
    } catch (const std::bad_alloc&) {
      throw_points_too_large();
    }
    if (queries_) free_points();
  }

  /// Frees the points, once the searcher has them and nothing else needs them.
  void free_points() {
    corpus_ = {};
    prepared_ = {};
    points_.reset();
  }

  void answer_radius(VectorsView queries, VectorRow first_self, std::uint64_t total) {
    choice_.searcher->search_radius(
        {.queries = queries, .radius = *plan_.radius, .first_self = first_self},
        [&](std::uint32_t, const RadiusLists& lists) {
          for (std::size_t i = 0; i + 1 < lists.offsets.size(); ++i)
            text_->write_list(
                lists.neighbors.subspan(lists.offsets[i], lists.offsets[i + 1] - lists.offsets[i]));
          queries_done_ += lists.offsets.size() - 1;
          neighbors_found_ += lists.neighbors.size();
          progress_.show("searching", queries_done_, total);
        });
  }

  void answer_points() {
    set_corpus();
    GraphSearch graph{corpus_, plan_.k, choice_.method, query_batch_rows(), {}};
    graph.on_progress = [&](std::uint64_t done) {
      progress_.show("searching", done, point_count_);
    };
    choice_.searcher->search_graph(
        graph, [&](VectorRow /*first_row*/, std::span<const VectorNeighbor> lists) {
          write(lists, point_count_);
        });
  }

  void answer(VectorsView queries, std::span<VectorNeighbor> lists, std::uint64_t total) {
    VectorSearch search{queries, plan_.k, no_row, choice_.method, {}};
    search.on_progress = [&](std::uint64_t done) {
      progress_.show("searching", queries_done_ + done, total);
    };
    if (queries_done_ == 0)
      search_first(search, lists);
    else
      choice_.searcher->search(search, lists);
    write(lists, total);
  }

  void write(std::span<const VectorNeighbor> lists, std::uint64_t total) {
    for (const auto& output : outputs_) output->write(lists);
    queries_done_ += lists.size() / plan_.k;
    progress_.show("searching", queries_done_, total);
  }

  const KnnPlan& plan_;
  std::unique_ptr<Stopping> stopping_;  ///< null: signals have their default effect
  std::unique_ptr<sim::VectorFile> points_;
  std::uint32_t dimension_;
  MergedRows merged_;                         ///< counts points that rounding made equal
  std::vector<double> offset_;                ///< subtracted from points and queries; empty: none
  std::unique_ptr<sim::VectorFile> queries_;  ///< null: the points are the queries
  std::vector<Label> labels_;
  std::vector<double> values_;
  SearcherChoice choice_;
  std::vector<std::unique_ptr<sim::ListWriter>> outputs_;
  sim::ListTextWriter* text_ = nullptr;  ///< the writer of --out, owned by outputs_
  std::uint32_t point_count_ = 0;
  std::vector<float> prepared_;  ///< the points, if they cannot be used in place
  VectorsView corpus_;           ///< the points, until nothing needs them on the host
  std::uint64_t queries_done_ = 0;
  std::uint64_t neighbors_found_ = 0;  ///< neighbours found by radius
  ProgressLine progress_;
};

}  // namespace

void run_knn(const KnnPlan& plan) {
  try {
    KnnRun(plan).run();
  } catch (const std::bad_alloc&) {
    if (plan.radius)
      throw std::runtime_error(
          "there is not enough memory for all points within the radius of some queries; ask for a "
          "smaller --radius, or use fewer --threads");
    throw std::runtime_error("there is not enough memory for lists of " + std::to_string(plan.k) +
                             " neighbours; ask for fewer with -k, or use fewer --threads");
  }
}

}  // namespace starling::apps
