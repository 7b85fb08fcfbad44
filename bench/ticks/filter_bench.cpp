// SPDX-License-Identifier: Apache-2.0
// Measures ticks with filters: see filter_bench.hpp. Every object has random tags and a constant
// age, and each row of the table has filters of its own.
#include "starling/bench/ticks/filter_bench.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "starling/bench/format.hpp"
#include "starling/knn/base/percentile.hpp"
#include "starling/knn/base/seeded_hash.hpp"
#include "starling/knn/tables/lock_step.hpp"
#include "starling/knn/tables/processor.hpp"

namespace starling::bench {
namespace {

constexpr int warm_up_ticks = 2;
constexpr std::size_t batch_rows = 10'000;
constexpr std::int64_t tick_us = 1'000'000;
// The ages of objects are uniform from 0 to this age.
constexpr std::int64_t age_us_max = 10'000'000'000;
constexpr std::size_t checked_lists = 30;

// The lowest `unused_bits` tag bits are 0 in every object. Every other tag bit is 1 with
// probability 1/2.
constexpr std::uint32_t unused_bits = 10;
constexpr std::uint32_t random_bits = 32 - unused_bits;
// The first 3 * trios objects form groups of three, called trios, for filters that only three
// objects pass. The objects of a trio have the same tags and the same age.
constexpr std::uint32_t trios = 1000;

struct Share {
  const char* name;
  double share;  ///< share of the objects that pass; 0: three objects if is_three, else none
  bool is_three;
};
constexpr std::array<Share, 6> shares{{{"100%", 1, false},
                                       {"10%", 0.1, false},
                                       {"1%", 0.01, false},
                                       {"0.1%", 0.001, false},
                                       {"three", 0, true},
                                       {"none", 0, false}}};

std::uint64_t mix(std::uint64_t value) {
  return split_mix(value + golden_gamma);
}

const char* name_of(FilterKind kind) {
  constexpr std::array<const char*, 3> names{"tags", "age", "both"};
  return names[static_cast<std::size_t>(kind)];
}

std::uint32_t random_tags(std::uint64_t object) {
  const std::uint64_t seed = object < 3 * std::uint64_t{trios} ? object / 3 : object;
  return static_cast<std::uint32_t>(mix(seed)) << unused_bits;
}

// Returns an age in microseconds. The age of a trio's objects is the number of the trio. All other
// objects are older than every trio.
std::int64_t age_of(std::uint64_t object) {
  if (object < 3 * std::uint64_t{trios}) return static_cast<std::int64_t>(object / 3);
  const auto random = static_cast<std::int64_t>(mix(object ^ 0xa9e) % (age_us_max - trios));
  return trios + random;
}

// Returns a tag filter that about 2^-bits of the objects pass.
TagFilter halving_filter(std::uint32_t number, std::uint32_t bits) {
  TagFilter filter;
  std::uint64_t random = mix(number ^ 0x5eed);
  for (std::uint32_t chosen = 0; chosen < bits; random = mix(random)) {
    const std::uint32_t bit = 1u << (unused_bits + random % random_bits);
    if (((filter.required | filter.forbidden) & bit) != 0) continue;
    ((random >> 32 & 1) != 0 ? filter.required : filter.forbidden) |= bit;
    ++chosen;
  }
  return filter;
}

/// Returns filter `number` of a row of the table. Filters with different numbers are different.
Filter filter_of(FilterKind kind, const Share& share, std::uint32_t number) {
  Filter filter;
  const std::uint32_t unlike = number & ((1u << unused_bits) - 1);  // tags that no object has
  const bool by_tags = kind != FilterKind::age;
  const bool by_age = kind != FilterKind::tags;
  if (share.is_three) {
    const std::uint32_t all = ((1u << random_bits) - 1) << unused_bits;
    const std::uint32_t trio = number % trios;
    if (by_tags) {
      filter.tags.required = random_tags(3 * trio) & all;
      filter.tags.forbidden = ~random_tags(3 * trio) & all;
    }
    // If a filter tests only the age, only the youngest trio, which is the first, can pass alone.
    // So all filters of this kind have the same age limit. They differ in forbidden tags that no
    // object has.
    if (by_age) filter.age_us_max = by_tags ? trio : 0;
    if (!by_tags) filter.tags.forbidden = unlike;
    return filter;
  }
  filter.tags.forbidden = unlike;
  if (share.share == 0) {
    if (by_tags) filter.tags = {.required = 1, .forbidden = unlike & ~1u};
    if (by_age) filter.age_us_max = 0;
    // The first trio has age 0 and passes the limit, so also require a tag that no object has.
    if (!by_tags) filter.tags.required = 1u << (number % unused_bits);
    if (!by_tags) filter.tags.forbidden &= ~filter.tags.required;
    return filter;
  }
  double left = share.share;
  if (by_tags && share.share < 1) {
    const double exponent = -std::log2(by_age ? std::sqrt(left) : left);
    const auto bits = static_cast<std::uint32_t>(std::lround(exponent));
    const TagFilter halving = halving_filter(number, bits);
    filter.tags.required |= halving.required;
    filter.tags.forbidden |= halving.forbidden;
    left /= std::exp2(-static_cast<double>(bits));
  }
  if (by_age)
    filter.age_us_max =
        static_cast<std::int64_t>(std::min(left, 1.0) * static_cast<double>(age_us_max)) + number;
  return filter;
}

struct Row {
  FilterKind kind;
  Share share;
  std::uint32_t filters;
  double distance_max_m;
};

class FilterRun {
 public:
  FilterRun(const FilterBenchOptions& options, Layout layout)
      : options_(options),
        workload_({.name = "filters",
                   .says = "",
                   .layout = layout,
                   .objects = options.objects,
                   .queries = options.queries,
                   .k = options.k}),
        processor_(processor_options(options), options.make_engine(Space::planar2)),
        ticks_(processor_) {
    processor_.put_stream({.name = "bench", .on = ReportOn::order});
    positions_.resize(options.objects);
    send();
    ticks_.advance(tau_us_);
  }

  /// Returns the median of build + search + diff, in milliseconds.
  double measure(const Row& row) {
    put_queries(row);
    std::vector<double> ms;
    for (int tick = 0; tick < warm_up_ticks + options_.ticks; ++tick) {
      workload_.step();
      tau_us_ += tick_us;
      send();
      const TickReport report = ticks_.advance(tau_us_);
      if (!report.error.empty()) throw std::runtime_error("the tick failed: " + report.error);
      if (tick == 0) check(row, report);
      if (tick >= warm_up_ticks)
        ms.push_back(report.times.build_ms + report.times.search_ms + report.times.diff_ms);
    }
    return median(ms);
  }

 private:
  static ProcessorOptions processor_options(const FilterBenchOptions& options) {
    ProcessorOptions processor;
    processor.objects.objects_max = std::max<std::uint64_t>(options.objects, 1);
    processor.queries.neighbors_max = std::uint64_t{options.k} * options.queries;
    return processor;
  }

  void send() {
    std::vector<ObjectUpdate> rows;
    std::vector<UpdateStatus> statuses(batch_rows);
    for (std::uint32_t begin = 0; begin < options_.objects; begin += batch_rows) {
      const std::uint32_t end = std::min<std::uint32_t>(begin + batch_rows, options_.objects);
      rows.clear();
      for (std::uint32_t i = begin; i < end; ++i) {
        const Position position = workload_.position_of(workload_.objects()[i]);
        processor_.lattice().to_lattice(position, positions_[i]);
        rows.push_back({ObjectId{i}, tau_us_ - age_of(i), positions_[i], random_tags(i), true});
      }
      processor_.update(rows, tau_us_, std::span(statuses).first(rows.size()));
    }
  }

  void put_queries(const Row& row) {
    queries_.clear();
    for (std::uint32_t i = 0; i < options_.queries; ++i) {
      QueryDefinition& query = queries_.emplace_back();
      query.id = QueryId{i};
      query.k = options_.k;
      processor_.lattice().to_lattice(workload_.position_of(workload_.queries()[i]),
                                      query.anchor.position);
      query.filter = filter_of(row.kind, row.share, i % row.filters);
      if (row.distance_max_m > 0) query.filter.key_max = processor_.to_key_max(row.distance_max_m);
    }
    std::vector<QueryStatus> statuses(queries_.size());
    processor_.put_queries(*processor_.queries().find_stream("bench"), queries_, statuses);
    if (std::ranges::any_of(statuses, [](auto status) { return status != QueryStatus::accepted; }))
      throw std::runtime_error("a query of the benchmark was refused");
  }

  // Compares about 30 lists with a test of every object. `report` is of the first tick of a row, in
  // which all lists are reported.
  void check(const Row& row, const TickReport& report) const {
    const auto& lists = report.streams.front().queries;
    // The step is odd, so that each of 16 filters occurs.
    const std::size_t step = lists.size() / checked_lists | 1;
    for (std::size_t i = 0; i < lists.size(); i += step) {
      const QueryDefinition& query = queries_[to_number(lists[i].query)];
      std::vector<Neighbor> expected;
      for (std::uint32_t object = 0; object < options_.objects; ++object) {
        const RankKey key{distance_sq(positions_[object], query.anchor.position)};
        if (query.filter.tags.passes(random_tags(object)) &&
            age_of(object) <= query.filter.age_us_max && key <= query.filter.key_max)
          expected.push_back({key, ObjectId{object}});
      }
      const auto end = expected.begin() +
                       static_cast<std::ptrdiff_t>(std::min<std::size_t>(expected.size(), query.k));
      std::partial_sort(expected.begin(), end, expected.end());
      expected.erase(end, expected.end());
      if (!std::ranges::equal(lists[i].neighbors, expected))
        throw std::runtime_error(std::string("the list of query ") +
                                 std::to_string(to_number(lists[i].query)) + ", " +
                                 name_of(row.kind) + " " + row.share.name +
                                 ", is wrong: report it with your command line");
    }
  }

  const FilterBenchOptions& options_;
  Workload workload_;
  Processor processor_;
  LockStep ticks_;
  std::int64_t tau_us_ = 0;
  std::vector<LatticePoint> positions_;
  std::vector<QueryDefinition> queries_;
};

}  // namespace

std::string filter_figures_help() {
  return "The columns:\n"
         "  layout    how objects and queries lie\n"
         "  asks for  what the filters test: tags, age or both\n"
         "  distance  the largest distance of a neighbour, in metres; any: no limit\n"
         "  filters   how many different filters the queries have\n"
         "  100% ...  build + search + diff in milliseconds, median, if this share of the objects\n"
         "            passes each filter\n"
         "  worst     the largest of them / that of 100% with one filter\n"
         "Thirty lists of each figure are compared with a test of every object.";
}

void write_filter_table(const FilterBenchOptions& options, std::ostream& out) {
  if (options.json)
    out << "[";
  else
    out << format("engine %s; %u objects, %u queries, k %u; milliseconds, medians\n",
                  options.engine_name.c_str(), options.objects, options.queries, options.k)
        << format("%-10s %-8s %8s %7s", "layout", "asks for", "distance", "filters");
  if (!options.json) {
    for (const Share& share : shares) out << format(" %9s", share.name);
    out << format(" %7s\n", "worst");
  }
  bool first = true;
  for (const Layout layout : options.layouts) {
    FilterRun run(options, layout);
    for (const FilterKind kind : options.kinds)
      for (const double distance_max_m : options.distances_max_m) {
        double all_pass_ms = 0;
        for (const std::uint32_t filters : options.filters) {
          const char* const layout_name = layout == Layout::uniform ? "uniform" : "clustered";
          const std::string distance =
              distance_max_m > 0 ? format("%.0f", distance_max_m) : std::string("any");
          if (!options.json)
            out << format("%-10s %-8s %8s %7u", layout_name, name_of(kind), distance.c_str(),
                          filters);
          double worst_ms = 0;
          for (const Share& share : shares) {
            const double ms = run.measure({kind, share, filters, distance_max_m});
            if (all_pass_ms == 0) all_pass_ms = ms;
            worst_ms = std::max(worst_ms, ms);
            if (!options.json) out << format(" %9.3f", ms) << std::flush;
            if (options.json)
              out << (std::exchange(first, false) ? "\n" : ",\n")
                  << format(
                         "{\"engine\":\"%s\",\"objects\":%u,\"queries\":%u,\"k\":%u,\"layout\":"
                         "\"%s\",\"asks_for\":\"%s\",\"distance_max_m\":%.0f,\"filters\":%u,"
                         "\"share\":\"%s\",\"ms\":%.4f,\"of_all_pass\":%.4f}",
                         options.engine_name.c_str(), options.objects, options.queries, options.k,
                         layout_name, name_of(kind), distance_max_m, filters, share.name, ms,
                         ms / all_pass_ms);
          }
          if (!options.json) out << format(" %7.2f", worst_ms / all_pass_ms) << std::endl;
        }
      }
  }
  if (options.json) out << "\n]\n";
}

}  // namespace starling::bench
