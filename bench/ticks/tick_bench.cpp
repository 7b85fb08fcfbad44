// SPDX-License-Identifier: Apache-2.0
// Drives a Processor through a workload tick by tick, times the stages, runs the peer on the same
// data and compares the lists: see tick_bench.hpp. Called by tick_table.cpp.
#include "starling/bench/ticks/tick_bench.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "starling/bench/clock.hpp"
#include "starling/bench/ticks/nanoflann_peer.hpp"
#include "starling/knn/base/percentile.hpp"
#include "starling/knn/tables/lock_step.hpp"
#include "starling/knn/tables/processor.hpp"

namespace starling::bench {
namespace {

constexpr int warm_up_ticks = 3;
constexpr std::size_t batch_rows = 1000;
constexpr std::size_t probes_max = 100;
constexpr std::int64_t tick_us = 1'000'000;

struct Samples {
  std::vector<double> lattice_ms, stage_ms, stage_ns, copy_in_ms, build_ms, search_ms, diff_ms,
      copy_out_ms, total_ms, peer_ms, ratio;
};

/// A workload that runs through a Processor. Updates come in batches of 1,000.
class Run {
 public:
  Run(const TickBenchOptions& options, Workload& workload)
      : workload_(workload),
        options_(options.workload),
        processor_(processor_options(options_), options.make_engine(options_.space)),
        lock_step_(processor_) {
    put_queries();
    std::vector<std::uint32_t> all(options_.objects);
    for (std::uint32_t i = 0; i < options_.objects; ++i) all[i] = i;
    Samples ignored;
    send(all, ignored);
    lock_step_.advance(0);
  }

  void tick(const std::vector<std::uint32_t>& moved, Samples& samples) {
    tau_us_ += tick_us;
    const double staging_ms = send(moved, samples);
    const auto start = Clock::now();
    const TickReport report = lock_step_.advance(tau_us_);
    samples.total_ms.push_back(staging_ms + ms_between(start, Clock::now()));
    samples.copy_in_ms.push_back(report.times.copy_in_ms);
    samples.copy_out_ms.push_back(report.times.copy_out_ms);
    samples.build_ms.push_back(report.times.build_ms);
    samples.search_ms.push_back(report.times.search_ms);
    samples.diff_ms.push_back(report.times.diff_ms);
    keep_probes(report);
  }

  struct Bytes {
    double with_one_index = 0;
    double with_both_indexes = 0;
  };
  Bytes bytes_per_object() {
    const EngineBytes engine = processor_.engine().bytes_used();
    const std::uint64_t all = processor_.objects().bytes_used() + engine.total();
    return {static_cast<double>(all - engine.spare_index) / options_.objects,
            static_cast<double>(all) / options_.objects};
  }

  /// A full list that the last tick reported, to compare with the peer's.
  struct Probe {
    std::size_t query = 0;  ///< index into the workload's queries or, if it has none, objects
    std::vector<double> distances_m;
  };
  const std::vector<Probe>& probes() const { return probes_; }

 private:
  static ProcessorOptions processor_options(const WorkloadOptions& workload) {
    ProcessorOptions options;
    options.space.space = workload.space;
    options.queries.neighbors_max =
        std::uint64_t{workload.k} * std::max(workload.objects, workload.queries);
    return options;
  }

  void put_queries() {
    processor_.put_stream({"bench", ReportOn::order, {}});
    std::vector<QueryDefinition> definitions;
    definitions.reserve(workload_.queries().size());
    for (const Metres& metres : workload_.queries()) {
      QueryDefinition definition;
      definition.id = QueryId{definitions.size()};
      definition.k = options_.k;
      processor_.lattice().to_lattice(workload_.position_of(metres), definition.anchor.position);
      definitions.push_back(definition);
    }
    if (definitions.empty()) {
      for (std::uint32_t i = 0; i < options_.objects; ++i)
        object_of_.emplace(workload_.id_of(i), i);
      definitions.emplace_back().k = options_.k;
      definitions.back().anchor.kind = AnchorKind::every_object;
    }
    std::vector<QueryStatus> statuses(definitions.size());
    processor_.put_queries(StreamId{0}, definitions, statuses);
  }

  /// Returns the milliseconds for converting to the lattice and for the object table. The time to
  /// make positions and rows does not count: it belongs to the workload.
  double send(const std::vector<std::uint32_t>& moved, Samples& samples) {
    double lattice_ms = 0;
    double stage_ms = 0;
    std::vector<ObjectUpdate> rows;
    std::vector<Position> positions;
    std::vector<UpdateStatus> statuses(batch_rows);
    for (std::size_t begin = 0; begin < moved.size(); begin += batch_rows) {
      const std::size_t count = std::min(batch_rows, moved.size() - begin);
      rows.resize(count);
      positions.resize(count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t object = moved[begin + i];
        rows[i].id = ObjectId{workload_.id_of(object)};
        rows[i].time_us = tau_us_;
        positions[i] = workload_.position_of(workload_.objects()[object]);
      }
      const auto start = Clock::now();
      for (std::size_t i = 0; i < count; ++i)
        processor_.lattice().to_lattice(positions[i], rows[i].position);
      const auto on_lattice = Clock::now();
      processor_.update(rows, tau_us_, std::span(statuses).first(count));
      lattice_ms += ms_between(start, on_lattice);
      stage_ms += ms_between(on_lattice, Clock::now());
    }
    samples.lattice_ms.push_back(lattice_ms);
    samples.stage_ms.push_back(stage_ms);
    if (!moved.empty())
      samples.stage_ns.push_back(stage_ms * 1e6 / static_cast<double>(moved.size()));
    return lattice_ms + stage_ms;
  }

  void keep_probes(const TickReport& report) {
    probes_.clear();
    for (const QueryReport& list : report.streams[0].queries) {
      if (probes_.size() == probes_max) return;
      if (list.neighbors.size() < options_.k) continue;
      Probe& probe = probes_.emplace_back();
      probe.query =
          list.has_subject ? object_of_.at(to_number(list.subject)) : to_number(list.query);
      probe.distances_m.reserve(options_.k);
      for (const Neighbor& neighbor : list.neighbors)
        probe.distances_m.push_back(processor_.lattice().to_metres(neighbor.key));
    }
  }

  Workload& workload_;
  WorkloadOptions options_;
  Processor processor_;
  LockStep lock_step_;
  std::int64_t tau_us_ = 0;
  std::vector<Probe> probes_;
  std::unordered_map<std::uint64_t, std::uint32_t> object_of_;  ///< by id; if objects are queries
};

// If the objects are the queries, each one is its own nearest neighbour in the peer's answer.
std::uint32_t peer_k(const WorkloadOptions& options) {
  return options.queries == 0 ? options.k + 1 : options.k;
}

// Compares the distances of some reported lists with the peer's. The tolerance covers the peer's
// float32 and the rounding of our lattice.
void compare(const WorkloadOptions& options, const Run& run, const NanoflannPeer& peer) {
  constexpr double tolerance_m = 0.05;
  const std::size_t stride = peer_k(options);
  for (const Run::Probe& probe : run.probes()) {
    const auto answer = std::span(peer.distances_sq()).subspan(probe.query * stride, stride);
    const auto others = answer.last(options.k);
    for (std::size_t rank = 0; rank < options.k; ++rank) {
      const double peer_m = std::sqrt(double{others[rank]});
      if (std::abs(peer_m - probe.distances_m[rank]) <= tolerance_m) continue;
      throw std::runtime_error(options.name + ", query " + std::to_string(probe.query) +
                               ", neighbour " + std::to_string(rank + 1) + ": the peer's is at " +
                               std::to_string(peer_m) + " m, ours at " +
                               std::to_string(probe.distances_m[rank]) +
                               " m; one of the two is wrong: report it with your command line");
    }
  }
}

double peer_tick(const WorkloadOptions& options, const Workload& workload, NanoflannPeer& peer) {
  const auto to_points = [](const std::vector<Metres>& metres) {
    std::vector<NanoflannPeer::Point> points;
    points.reserve(metres.size());
    for (const Metres& at : metres)
      points.push_back({static_cast<float>(at.x), static_cast<float>(at.y)});
    return points;
  };
  const auto objects = to_points(workload.objects());
  if (options.queries == 0) return peer.tick_ms(objects, objects, peer_k(options));
  return peer.tick_ms(objects, to_points(workload.queries()), peer_k(options));
}

}  // namespace

TickFigures run_tick_bench(const TickBenchOptions& options) {
  const WorkloadOptions& workload_options = options.workload;
  Workload workload(workload_options);
  Run run(options, workload);
  Samples samples;
  const int ticks = options.ticks > 0 ? options.ticks : workload_options.ticks;
  std::uint64_t lists_compared = 0;
  const bool with_peer = options.with_nanoflann && workload_options.has_peer;
  NanoflannPeer peer;
  for (int tick = 0; tick < warm_up_ticks + ticks; ++tick) {
    if (tick == warm_up_ticks) samples = {};
    run.tick(workload.step(), samples);
    if (!with_peer) continue;
    samples.peer_ms.push_back(peer_tick(workload_options, workload, peer));
    samples.ratio.push_back(
        (samples.build_ms.back() + samples.search_ms.back() + samples.diff_ms.back()) /
        samples.peer_ms.back());
    compare(workload_options, run, peer);
    lists_compared += run.probes().size();
  }
  const Run::Bytes bytes = run.bytes_per_object();
  return {.workload = workload_options.name,
          .ticks = ticks,
          .lattice_ms = median(samples.lattice_ms),
          .stage_ms = median(samples.stage_ms),
          .stage_ns_per_update = median(samples.stage_ns),
          .copy_in_ms = median(samples.copy_in_ms),
          .build_ms = median(samples.build_ms),
          .search_ms = median(samples.search_ms),
          .diff_ms = median(samples.diff_ms),
          .copy_out_ms = median(samples.copy_out_ms),
          .total_ms = median(samples.total_ms),
          .p99_ms = percentile(samples.total_ms, 0.99),
          .bytes_per_object = bytes.with_one_index,
          .bytes_per_object_all = bytes.with_both_indexes,
          .has_peer = with_peer,
          .lists_compared = lists_compared,
          .peer_ms = median(samples.peer_ms),
          .ratio = median(samples.ratio)};
}

}  // namespace starling::bench
