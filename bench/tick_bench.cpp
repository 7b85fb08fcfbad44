#include "bench/tick_bench.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "bench/nanoflann_peer.hpp"
#include "knn/processor.hpp"

namespace starling::bench {
namespace {

constexpr int warm_up_ticks = 3;
constexpr std::size_t batch_rows = 1000;
constexpr std::int64_t tick_us = 1'000'000;

using Clock = std::chrono::steady_clock;

double ms_between(Clock::time_point start, Clock::time_point stop) {
  return std::chrono::duration<double, std::milli>(stop - start).count();
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double at = share * static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(std::ceil(at))];
}

double median(const std::vector<double>& values) {
  return quantile(values, 0.5);
}

struct Samples {
  std::vector<double> lattice_ms, stage_ms, stage_ns, build_ms, search_ms, diff_ms, total_ms,
      peer_ms, ratio;
};

/// A workload running through a Processor, updates in batches of 1,000.
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
    processor_.recycle(lock_step_.advance(0));
  }

  void tick(const std::vector<std::uint32_t>& moved, Samples& samples) {
    tau_us_ += tick_us;
    const auto start = Clock::now();
    send(moved, samples);
    TickReport report = lock_step_.advance(tau_us_);
    samples.total_ms.push_back(ms_between(start, Clock::now()));
    samples.build_ms.push_back(report.times.build_ms);
    samples.search_ms.push_back(report.times.search_ms);
    samples.diff_ms.push_back(report.times.diff_ms);
    keep_distances(report);
    processor_.recycle(std::move(report));
  }

  double bytes_per_object() {
    const auto bytes = processor_.objects().bytes_used() + processor_.engine().bytes_used();
    return static_cast<double>(bytes) / options_.objects;
  }

  /// Metres, of the k-th neighbour of the first list reported in the last tick, and its query.
  struct Probe {
    std::uint64_t query = 0;
    double distance_m = -1;
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
    for (const Metres& metres : workload_.queries()) {
      QueryDefinition definition;
      definition.id = QueryId{definitions.size()};
      definition.k = options_.k;
      processor_.lattice().to_lattice(workload_.position_of(metres), definition.anchor.position);
      definitions.push_back(definition);
    }
    if (definitions.empty()) {
      definitions.emplace_back().k = options_.k;
      definitions.back().anchor.kind = AnchorKind::every_object;
    }
    std::vector<QueryStatus> statuses(definitions.size());
    processor_.put_queries(StreamId{0}, definitions, statuses);
  }

  void send(const std::vector<std::uint32_t>& moved, Samples& samples) {
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
    samples.stage_ns.push_back(stage_ms * 1e6 / static_cast<double>(moved.size()));
  }

  void keep_distances(const TickReport& report) {
    probes_.clear();
    for (const QueryReport& query : report.streams[0].queries) {
      if (query.neighbors.size() < options_.k || query.has_subject) continue;
      probes_.push_back({to_number(query.query),
                         processor_.lattice().to_metres(query.neighbors.back().distance_sq)});
      if (probes_.size() == 100) return;
    }
  }

  Workload& workload_;
  WorkloadOptions options_;
  Processor processor_;
  LockStep lock_step_;
  std::int64_t tau_us_ = 0;
  std::vector<Probe> probes_;
};

#ifdef STARLING_NANOFLANN
// The k-th distances of some reported lists against the peer's, to the rounding of its float32.
void compare(const Run& run, const NanoflannPeer& peer, std::uint32_t k) {
  constexpr double tolerance_m = 0.05;
  for (const Run::Probe& probe : run.probes()) {
    const double peer_m = std::sqrt(double{peer.distances_sq()[probe.query * k + k - 1]});
    if (std::abs(peer_m - probe.distance_m) > tolerance_m)
      throw std::runtime_error("query " + std::to_string(probe.query) + ": the peer's k-th is at " +
                               std::to_string(peer_m) + " m, ours at " +
                               std::to_string(probe.distance_m) + " m");
  }
}

double peer_tick(const WorkloadOptions& options, const Workload& workload, NanoflannPeer& peer) {
  const auto to_points = [](const std::vector<Metres>& metres) {
    std::vector<NanoflannPeer::Point> points;
    for (const Metres& at : metres)
      points.push_back({static_cast<float>(at.x), static_cast<float>(at.y)});
    return points;
  };
  const auto objects = to_points(workload.objects());
  if (options.queries == 0) return peer.tick_ms(objects, objects, options.k + 1);
  return peer.tick_ms(objects, to_points(workload.queries()), options.k);
}
#endif

}  // namespace

TickFigures run_tick_bench(const TickBenchOptions& options) {
  const WorkloadOptions& workload_options = options.workload;
  Workload workload(workload_options);
  Run run(options, workload);
  Samples samples;
  const int ticks = options.ticks > 0 ? options.ticks : workload_options.ticks;
  const bool with_peer = options.with_nanoflann && workload_options.has_peer;
#ifdef STARLING_NANOFLANN
  NanoflannPeer peer;
#endif
  for (int tick = 0; tick < warm_up_ticks + ticks; ++tick) {
    if (tick == warm_up_ticks) samples = {};
    run.tick(workload.step(), samples);
#ifdef STARLING_NANOFLANN
    if (!with_peer) continue;
    samples.peer_ms.push_back(peer_tick(workload_options, workload, peer));
    samples.ratio.push_back(
        (samples.build_ms.back() + samples.search_ms.back() + samples.diff_ms.back()) /
        samples.peer_ms.back());
    compare(run, peer, workload_options.k);
#endif
  }
  return {.workload = workload_options.name,
          .ticks = ticks,
          .lattice_ms = median(samples.lattice_ms),
          .stage_ms = median(samples.stage_ms),
          .stage_ns_per_update = median(samples.stage_ns),
          .build_ms = median(samples.build_ms),
          .search_ms = median(samples.search_ms),
          .diff_ms = median(samples.diff_ms),
          .total_ms = median(samples.total_ms),
          .p99_ms = quantile(samples.total_ms, 0.99),
          .bytes_per_object = run.bytes_per_object(),
          .has_peer = with_peer,
          .peer_ms = median(samples.peer_ms),
          .ratio = median(samples.ratio)};
}

}  // namespace starling::bench
