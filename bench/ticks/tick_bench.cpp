// SPDX-License-Identifier: Apache-2.0
// Drives a Processor through a workload tick by tick, times the stages, runs the peers on the same
// data and compares the lists: see tick_bench.hpp. Called by tick_table.cpp.
#include "starling/bench/ticks/tick_bench.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "starling/bench/clock.hpp"
#include "starling/knn/base/percentile.hpp"
#include "starling/knn/tables/lock_step.hpp"
#include "starling/knn/tables/processor.hpp"

namespace starling::bench {
namespace {

constexpr int warm_up_ticks = 3;
constexpr std::size_t batch_rows = 1000;
constexpr std::size_t batches_at_once = 64;
constexpr std::size_t probes_max = 100;
constexpr std::int64_t tick_us = 1'000'000;

struct Samples {
  std::vector<double> lattice_ms, stage_ms, stage_ns, copy_in_ms, build_ms, search_ms, diff_ms,
      copy_out_ms, total_ms;
};

/// Runs a workload through a Processor. Updates are sent in batches of 1,000, up to 64 at once.
class Run {
 public:
  Run(const TickBenchOptions& options, Workload& workload)
      : workload_(workload),
        options_(options.workload),
        processor_(processor_options(options_, options.threads),
                   options.make_engine(options_.space)),
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

  /// A list that the last tick reported and that has k neighbours. compare() compares it with the
  /// peer's list.
  struct Probe {
    /// Index of the query. If the objects are the queries: index of the object.
    std::size_t query = 0;
    std::vector<double> distances_m;
  };
  const std::vector<Probe>& probes() const { return probes_; }

 private:
  static ProcessorOptions processor_options(const WorkloadOptions& workload, unsigned threads) {
    ProcessorOptions options;
    options.threads = threads;
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

  /// Sends the rows of the moved objects. Returns the milliseconds for converting to the lattice
  /// and for updating the object table. The time to make positions and rows does not count, because
  /// it belongs to the workload.
  double send(const std::vector<std::uint32_t>& moved, Samples& samples) {
    double lattice_ms = 0;
    double stage_ms = 0;
    constexpr std::size_t components = 2;
    for (std::size_t begin = 0; begin < moved.size(); begin += batch_rows * batches_at_once) {
      const std::size_t count = std::min(batch_rows * batches_at_once, moved.size() - begin);
      rows_.resize(count);
      statuses_.resize(count);
      coordinates_.resize(count * components);
      errors_.resize(count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t object = moved[begin + i];
        rows_[i].id = ObjectId{workload_.id_of(object)};
        rows_[i].time_us = tau_us_;
        const Position position = workload_.position_of(workload_.objects()[object]);
        coordinates_[components * i] = position[0];
        coordinates_[components * i + 1] = position[1];
      }
      batches_.clear();
      for (std::size_t first = 0; first < count; first += batch_rows) {
        const std::size_t batch = std::min(batch_rows, count - first);
        batches_.push_back({std::span(rows_).subspan(first, batch), tau_us_,
                            std::span(statuses_).subspan(first, batch)});
      }
      const auto start = Clock::now();
      processor_.to_lattice(coordinates_, components, rows_, errors_);
      const auto on_lattice = Clock::now();
      processor_.update(batches_);
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

  // The updates that are sent at once, by row:
  std::vector<ObjectUpdate> rows_;
  std::vector<UpdateStatus> statuses_;
  std::vector<double> coordinates_;
  std::vector<PositionError> errors_;
  std::vector<ObjectBatch> batches_;

  std::vector<Probe> probes_;
  /// The index of each object, by its id. Filled only if the objects are the queries.
  std::unordered_map<std::uint64_t, std::uint32_t> object_of_;
};

// Returns the k that a peer gets. If the objects are the queries, each object is its own nearest
// neighbour in the peer's answer. The peer must then find one neighbour more.
std::uint32_t peer_k(const WorkloadOptions& options) {
  return options.queries == 0 ? options.k + 1 : options.k;
}

// Compares the distances of some reported lists with the peer's. The tolerance covers the peer's
// float32 and the rounding of our lattice.
void compare(const WorkloadOptions& options, const Run& run, const std::string& name,
             const Peer& peer) {
  constexpr double tolerance_m = 0.05;
  const std::size_t stride = peer_k(options);
  for (const Run::Probe& probe : run.probes()) {
    const auto answer = peer.distances_sq().subspan(probe.query * stride, stride);
    const auto others = answer.last(options.k);
    for (std::size_t rank = 0; rank < options.k; ++rank) {
      const double peer_m = std::sqrt(double{others[rank]});
      if (std::abs(peer_m - probe.distances_m[rank]) <= tolerance_m) continue;
      throw std::runtime_error(options.name + ", query " + std::to_string(probe.query) +
                               ", neighbour " + std::to_string(rank + 1) + ": that of " + name +
                               " is at " + std::to_string(peer_m) + " m, ours at " +
                               std::to_string(probe.distances_m[rank]) +
                               " m; one of the two is wrong: report it with your command line");
    }
  }
}

std::vector<PeerPoint> to_points(const std::vector<Metres>& metres) {
  std::vector<PeerPoint> points;
  points.reserve(metres.size());
  for (const Metres& at : metres)
    points.push_back({static_cast<float>(at.x), static_cast<float>(at.y)});
  return points;
}

/// A peer and its measured times.
struct MeasuredPeer {
  std::string name;
  std::unique_ptr<Peer> peer;
  std::vector<double> ms, ratios;
  std::uint64_t lists_compared = 0;

  /// Lets the peer answer the tick that the engine has just computed in `engine_ms`.
  void tick(const WorkloadOptions& options, const Workload& workload, const Run& run,
            double engine_ms) {
    const auto objects = to_points(workload.objects());
    ms.push_back(options.queries == 0
                     ? peer->tick_ms(objects, objects, peer_k(options))
                     : peer->tick_ms(objects, to_points(workload.queries()), peer_k(options)));
    ratios.push_back(engine_ms / ms.back());
    compare(options, run, name, *peer);
    lists_compared += run.probes().size();
  }

  void forget() {
    ms.clear();
    ratios.clear();
  }

  PeerFigures figures() const { return {name, median(ms), median(ratios), lists_compared}; }
};

std::vector<MeasuredPeer> make_peers(const TickBenchOptions& options) {
  std::vector<MeasuredPeer> peers;
  if (!options.workload.has_peer) return peers;
  for (const NamedPeer& peer : options.peers) peers.push_back({peer.name, peer.make(), {}, {}});
  return peers;
}

}  // namespace

TickFigures run_tick_bench(const TickBenchOptions& options) {
  const WorkloadOptions& workload_options = options.workload;
  Workload workload(workload_options);
  Run run(options, workload);
  Samples samples;
  const int ticks = options.ticks > 0 ? options.ticks : workload_options.ticks;
  std::vector<MeasuredPeer> peers = make_peers(options);
  for (int tick = 0; tick < warm_up_ticks + ticks; ++tick) {
    if (tick == warm_up_ticks) {
      samples = {};
      for (MeasuredPeer& peer : peers) peer.forget();
    }
    run.tick(workload.step(), samples);
    const double engine_ms =
        samples.build_ms.back() + samples.search_ms.back() + samples.diff_ms.back();
    for (MeasuredPeer& peer : peers) peer.tick(workload_options, workload, run, engine_ms);
  }
  std::vector<PeerFigures> peer_figures;
  peer_figures.reserve(peers.size());
  for (const MeasuredPeer& peer : peers) peer_figures.push_back(peer.figures());
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
          .peers = std::move(peer_figures)};
}

}  // namespace starling::bench
