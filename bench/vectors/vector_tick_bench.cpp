// SPDX-License-Identifier: Apache-2.0
// Drives a Processor in lock step with random vectors, and keeps a copy of all vectors. After each
// tick, one list is computed again from the copy: see vector_tick_bench.hpp.
#include "starling/bench/vectors/vector_tick_bench.hpp"

#include <algorithm>
#include <ostream>
#include <random>
#include <stdexcept>
#include <vector>

#include "starling/bench/clock.hpp"
#include "starling/bench/format.hpp"
#include "starling/bench/vectors/knn_check.hpp"
#include "starling/knn/base/percentile.hpp"
#include "starling/knn/tables/lock_step.hpp"
#include "starling/knn/tables/processor.hpp"

namespace starling::bench {
namespace {

constexpr std::size_t batch_rows = 4096;
constexpr int ticks_before = 5;  // not measured, because memory still grows

class Run {
 public:
  explicit Run(const VectorTickOptions& options)
      : options_(options),
        processor_(processor_options(options), options.make_engine(space_of(options))),
        random_(options.seed),
        order_(options.objects),
        corpus_(std::size_t{options.objects} * options.dimension),
        lists_(options.queries) {
    for (std::uint32_t i = 0; i < options.objects; ++i) order_[i] = i;
    put_queries();
    move(options.objects);
    advance();
  }

  void tick() {
    const auto moving =
        static_cast<std::uint32_t>(options_.moving * static_cast<double>(options_.objects));
    if (moving < options_.objects) choose(moving);
    stage_ms_.push_back(move(moving));
    advance();
  }
  void forget_figures() {
    for (auto* const values :
         {&stage_ms_, &tick_ms_, &copy_in_ms_, &build_ms_, &search_ms_, &diff_ms_})
      values->clear();
  }
  VectorTickFigures figures() {
    const double bytes =
        static_cast<double>(processor_.objects().bytes_used() +
                            processor_.engine().bytes_used().total()) +
        static_cast<double>(std::uint64_t{2} * options_.dimension * sizeof(float)) *
            options_.objects;
    return {.stage_ms = median(stage_ms_),
            .tick_ms = median(tick_ms_),
            .copy_in_ms = median(copy_in_ms_),
            .build_ms = median(build_ms_),
            .search_ms = median(search_ms_),
            .diff_ms = median(diff_ms_),
            .p99_ms = percentile(tick_ms_, 0.99),
            .bytes_per_object = bytes / options_.objects};
  }

 private:
  static SpaceOptions space_of(const VectorTickOptions& options) {
    SpaceOptions space;
    space.space = Space::vector;
    space.dimension = options.dimension;
    space.metric = options.metric;
    return space;
  }
  static ProcessorOptions processor_options(const VectorTickOptions& options) {
    ProcessorOptions processor;
    processor.space = space_of(options);
    return processor;
  }

  std::vector<float> draw(std::size_t rows) {
    std::vector<float> raw(rows * options_.dimension);
    for (float& component : raw) component = uniform_(random_);
    return raw;
  }

  // Puts `count` random objects, all different, at the front of order_.
  void choose(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i)
      std::swap(order_[i], order_[i + random_() % (options_.objects - i)]);
  }

  void put_queries() {
    processor_.put_stream({"bench", ReportOn::order, {}});
    queries_ = draw(options_.queries);
    prepare_vectors(options_.metric, {queries_, options_.dimension}, queries_);
    std::vector<QueryDefinition> definitions(options_.queries);
    for (std::uint32_t i = 0; i < options_.queries; ++i) {
      definitions[i].id = QueryId{i};
      definitions[i].k = options_.k;
      const auto row = VectorsView{queries_, options_.dimension}.row(i);
      definitions[i].components.assign(row.begin(), row.end());
    }
    std::vector<QueryStatus> statuses(definitions.size());
    processor_.put_queries(StreamId{0}, definitions, statuses);
  }

  /// Gives new vectors to the first `count` objects of order_. Returns the milliseconds to prepare
  /// and stage the vectors.
  double move(std::uint32_t count) {
    double ms = 0;
    std::vector<VectorUpdate> rows;
    std::vector<UpdateStatus> statuses(batch_rows);
    for (std::size_t begin = 0; begin < count; begin += batch_rows) {
      const std::size_t some = std::min<std::size_t>(batch_rows, count - begin);
      std::vector<float> components = draw(some);
      const auto start = Clock::now();
      rows.clear();
      for (std::size_t i = 0; i < some; ++i)
        rows.push_back({.id = ObjectId{order_[begin + i]}, .time_us = tau_us_});
      prepare_vectors(options_.metric, {components, options_.dimension}, components);
      processor_.update_vectors(rows, {components, options_.dimension}, tau_us_,
                                std::span(statuses).first(some));
      ms += ms_between(start, Clock::now());
      for (std::size_t i = 0; i < some; ++i)
        std::copy_n(components.begin() + static_cast<std::ptrdiff_t>(i * options_.dimension),
                    options_.dimension,
                    corpus_.begin() + static_cast<std::ptrdiff_t>(std::size_t{order_[begin + i]} *
                                                                  options_.dimension));
    }
    return ms;
  }

  void advance() {
    const auto start = Clock::now();
    const TickReport report = lock_step_.advance(tau_us_++);
    tick_ms_.push_back(ms_between(start, Clock::now()));
    if (!report.error.empty()) throw std::runtime_error("a tick failed: " + report.error);
    copy_in_ms_.push_back(report.times.copy_in_ms);
    build_ms_.push_back(report.times.build_ms);
    search_ms_.push_back(report.times.search_ms);
    diff_ms_.push_back(report.times.diff_ms);
    for (const QueryReport& query : report.streams.front().queries)
      lists_[to_number(query.query)].assign(query.neighbors.begin(), query.neighbors.end());
    if (options_.queries > 0) check_list(next_checked_++ % options_.queries);
  }

  void check_list(std::uint32_t query) const {
    const std::vector<VectorNeighbor> exact =
        exact_list(options_.metric, {corpus_, options_.dimension},
                   VectorsView{queries_, options_.dimension}.row(query), options_.k, no_row);
    const auto is_same = [](const VectorNeighbor& row, const Neighbor& found) {
      return ordered_of(row.score) == to_number(found.key) && row.row == to_number(found.object);
    };
    const auto end = std::ranges::find(exact, no_row, &VectorNeighbor::row);
    if (!std::ranges::equal(exact.begin(), end, lists_[query].begin(), lists_[query].end(),
                            is_same))
      throw std::runtime_error(format("bench vector-ticks: the list of query %u is wrong", query));
  }

  VectorTickOptions options_;
  Processor processor_;
  LockStep lock_step_{processor_};
  std::mt19937_64 random_;
  std::uniform_real_distribution<float> uniform_{0, 1};
  std::vector<std::uint32_t> order_;
  std::vector<float> corpus_;   ///< prepared rows; the index of a row is the object's id
  std::vector<float> queries_;  ///< prepared rows
  std::vector<std::vector<Neighbor>> lists_;
  std::uint32_t next_checked_ = 0;
  std::int64_t tau_us_ = 1;
  std::vector<double> stage_ms_;
  std::vector<double> tick_ms_;
  std::vector<double> copy_in_ms_;
  std::vector<double> build_ms_;
  std::vector<double> search_ms_;
  std::vector<double> diff_ms_;
};

}  // namespace

std::string vector_tick_figures_help() {
  return "The columns are medians over the ticks, in milliseconds:\n"
         "  stage_ms   preparing rows, finding slots of ids, event times, staging\n"
         "  copy_ms    device time: copying the staged rows to the device and applying them; 0 on\n"
         "             a CPU\n"
         "  build_ms   host time: applying the staged rows, with that copy\n"
         "  search_ms  updating the lists; device time if there is a device\n"
         "  diff_ms    comparing the lists and collecting the report\n"
         "  tick_ms    from begin_tick until the report is complete\n"
         "  p99_ms     99th percentile of tick_ms; with fewer than 100 ticks the slowest tick\n"
         "  B/object   bytes of table and engine, with both staging halves, per object\n"
         "After each tick one list is computed again by the definition and a sort; a difference\n"
         "ends the run.";
}

VectorTickFigures run_vector_ticks(const VectorTickOptions& options) {
  Run run(options);
  for (int i = 0; i < ticks_before; ++i) run.tick();
  run.forget_figures();
  for (int i = 0; i < options.ticks; ++i) run.tick();
  return run.figures();
}

void write_vector_ticks(const VectorTickOptions& options, std::ostream& out) {
  const VectorTickFigures figures = run_vector_ticks(options);
  if (options.json) {
    out << format(
               "{\"objects\": %u, \"dimension\": %u, \"metric\": \"%s\", \"moving\": %g, "
               "\"queries\": %u, \"k\": %u, \"ticks\": %d, \"stage_ms\": %.4f, ",
               options.objects, options.dimension, std::string(name_of(options.metric)).c_str(),
               options.moving, options.queries, options.k, options.ticks, figures.stage_ms)
        << format(
               "\"copy_in_ms\": %.4f, \"build_ms\": %.4f, \"search_ms\": %.4f, \"diff_ms\": %.4f, "
               "\"tick_ms\": %.4f, "
               "\"p99_ms\": %.4f, \"bytes_per_object\": %.1f}\n",
               figures.copy_in_ms, figures.build_ms, figures.search_ms, figures.diff_ms,
               figures.tick_ms, figures.p99_ms, figures.bytes_per_object);
    return;
  }
  out << options.engine_name << '\n'
      << format("%9s %5s %14s %8s %8s %5s %9s %8s %9s %10s %8s %8s %8s %8s\n", "objects", "d",
                "metric", "moving", "queries", "k", "stage_ms", "copy_ms", "build_ms", "search_ms",
                "diff_ms", "tick_ms", "p99_ms", "B/object")
      << format("%9u %5u %14s %8g %8u %5u %9.3f %8.3f %9.3f %10.3f %8.3f %8.3f %8.3f %8.1f\n",
                options.objects, options.dimension, std::string(name_of(options.metric)).c_str(),
                options.moving, options.queries, options.k, figures.stage_ms, figures.copy_in_ms,
                figures.build_ms, figures.search_ms, figures.diff_ms, figures.tick_ms,
                figures.p99_ms, figures.bytes_per_object);
}

}  // namespace starling::bench
