// SPDX-License-Identifier: Apache-2.0
// Makes all rows before the measurement, swaps them into the engine's staging halves, and polls for
// the results without sleeping: see pipeline_bench.hpp. Called by pipeline_table.cpp.
#include "starling/bench/ticks/pipeline_bench.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "starling/bench/clock.hpp"
#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/percentile.hpp"
#include "starling/knn/words/lattice.hpp"

namespace starling::bench {
namespace {

constexpr std::size_t steps = 3;
constexpr std::size_t burst_bytes_max = std::size_t{1} << 30;
// A burst has this many ticks even if its rows take more than burst_bytes_max, because the period
// is a mean over several ticks.
constexpr std::size_t burst_ticks_min = 8;
constexpr std::size_t burst_ticks_max = 256;
constexpr std::size_t filling_ticks = 2;  // the first ticks of a burst, until the pipeline is full
constexpr std::int64_t tick_us = 1'000'000;

using Rows = StagedVector<ObjectRow>;

struct Samples {
  std::vector<double> latency_us, period_us, copy_in_us, device_us, copy_out_us, bytes_out;
};

struct Delivery {
  std::unique_ptr<TickResult> result;
  Clock::time_point at;
};

/// Passes results from the engine's thread to a thread that polls.
class Mailbox {
 public:
  void put(std::unique_ptr<TickResult> result) {
    const auto at = Clock::now();
    const std::lock_guard lock(mutex_);
    deliveries_.push_back({std::move(result), at});
    is_empty_ = false;
  }

  /// Returns all results that have come, in tick order.
  std::vector<Delivery> take() {
    if (is_empty_) return {};
    const std::lock_guard lock(mutex_);
    is_empty_ = true;
    return std::exchange(deliveries_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Delivery> deliveries_;
  std::atomic<bool> is_empty_{true};
};

/// Returns the rows of all objects for each of `steps` steps.
std::vector<std::vector<ObjectRow>> make_steps(Workload& workload, Space space) {
  const Lattice lattice({.space = space});
  std::vector<std::vector<ObjectRow>> all(steps);
  for (std::vector<ObjectRow>& rows : all) {
    rows.resize(workload.objects().size());
    for (Slot slot = 0; slot < rows.size(); ++slot) {
      rows[slot].slot = slot;
      rows[slot].generation = 1;
      lattice.to_lattice(workload.position_of(workload.objects()[slot]), rows[slot].position);
    }
    workload.step();
  }
  return all;
}

/// Runs a workload on an engine, in bursts of ticks. Holds the rows of one burst.
class Drive {
 public:
  Drive(Engine& engine, const WorkloadOptions& options, std::size_t ticks) : engine_(engine) {
    engine_.set_result_handler([mailbox = mailbox_](std::unique_ptr<TickResult> result) {
      mailbox->put(std::move(result));
    });
    Workload workload(options);
    put_queries(workload, options);
    steps_ = make_steps(workload, options.space);
    Staging& half = engine_.staging();
    half.objects.assign(steps_[0].begin(), steps_[0].end());
    for (Slot slot = 0; slot < half.objects.size(); ++slot)
      half.births.push_back({slot, ObjectId{workload.id_of(slot)}});
    const std::size_t fit = burst_bytes_max / bytes_in();
    const std::size_t burst = std::clamp(std::min(fit, ticks), burst_ticks_min, burst_ticks_max);
    for (std::size_t i = 0; i < burst; ++i) burst_.emplace_back(half.objects.get_allocator());
    begin();
    Samples ignored;
    take(1, ignored);
  }
  Drive(const Drive&) = delete;
  Drive& operator=(const Drive&) = delete;

  std::size_t burst_ticks() const { return burst_.size(); }
  std::size_t bytes_in() const { return steps_[0].size() * sizeof(ObjectRow); }

  /// Runs a burst one tick at a time.
  void run_singly(Samples& samples) {
    refill();
    for (Rows& rows : burst_) {
      engine_.staging().objects.swap(rows);
      const auto begun = Clock::now();
      begin();
      samples.latency_us.push_back(us_between(begun, take(1, samples).front()));
    }
  }

  /// Runs a burst, and begins each tick as soon as the engine accepts it.
  void run_pipelined(Samples& samples) {
    refill();
    std::vector<Clock::time_point> arrivals;
    Samples ignored;  // the stages of overlapping ticks cannot be told apart
    const auto take_what_came = [&](std::size_t at_least) {
      const auto came = take(at_least, ignored);
      arrivals.insert(arrivals.end(), came.begin(), came.end());
    };
    for (Rows& rows : burst_) {
      engine_.staging().objects.swap(rows);
      while (!try_begin()) take_what_came(0);
    }
    take_what_came(burst_.size() - arrivals.size());
    const auto periods = static_cast<double>(arrivals.size() - 1 - filling_ticks);
    samples.period_us.push_back(us_between(arrivals[filling_ticks], arrivals.back()) / periods);
  }

 private:
  void put_queries(const Workload& workload, const WorkloadOptions& options) {
    const Lattice lattice({.space = options.space});
    for (const Metres& metres : workload.queries()) {
      QueryRow query;
      query.slot = static_cast<Slot>(engine_.staging().queries.size());
      query.generation = 1;
      query.k = options.k;
      lattice.to_lattice(workload.position_of(metres), query.position);
      engine_.staging().queries.push_back(query);
    }
  }

  /// Writes new rows into burst_. The engine has cleared the vectors in burst_ but has kept their
  /// memory.
  void refill() {
    for (Rows& rows : burst_) {
      const std::vector<ObjectRow>& step = steps_[there_and_back(++step_number_, steps)];
      rows.assign(step.begin(), step.end());
    }
  }

  bool try_begin() {
    if (!engine_.begin_tick(Tick{tick_ + 1}, static_cast<std::int64_t>(tick_) * tick_us))
      return false;
    ++tick_;
    return true;
  }

  void begin() { check_invariant(try_begin(), "the engine accepts a tick if no other runs"); }

  /// Waits for `at_least` results or more, consumes each result as a user would, and returns the
  /// times at which the results came.
  std::vector<Clock::time_point> take(std::size_t at_least, Samples& samples) {
    std::vector<Clock::time_point> arrivals;
    do {
      for (Delivery& delivery : mailbox_->take()) {
        note(*delivery.result, samples);
        delivery.result.reset();  // gives the memory of its lists back to the engine
        arrivals.push_back(delivery.at);
      }
      if (arrivals.empty()) std::this_thread::yield();
    } while (arrivals.size() < at_least);
    return arrivals;
  }

  static void note(const TickResult& result, Samples& samples) {
    if (!result.error.empty()) throw std::runtime_error("a tick failed: " + result.error);
    const StageTimes& times = result.times;
    samples.copy_in_us.push_back(times.copy_in_ms * 1e3);
    samples.device_us.push_back((times.build_ms + times.search_ms + times.diff_ms) * 1e3);
    samples.copy_out_us.push_back(times.copy_out_ms * 1e3);
    samples.bytes_out.push_back(static_cast<double>(result.lists.size() * sizeof(ReportedList) +
                                                    result.neighbors.size_bytes() +
                                                    result.states.size() * sizeof(NeighborState)));
  }

  Engine& engine_;
  std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
  std::vector<std::vector<ObjectRow>> steps_;
  std::vector<Rows> burst_;  ///< the rows of each tick
  std::uint64_t step_number_ = 0;
  std::uint64_t tick_ = 0;
};

double ratio(double value, double by) {
  return by > 0 ? value / by : 0;
}

}  // namespace

double PipelineFigures::copy_in_gb_per_s() const {
  return ratio(bytes_in / 1e3, copy_in_us);
}

double PipelineFigures::copy_out_gb_per_s() const {
  return ratio(bytes_out / 1e3, copy_out_us);
}

double PipelineFigures::period_ratio() const {
  return ratio(period_us, std::max({copy_in_us, device_us, copy_out_us}));
}

double PipelineFigures::latency_ratio() const {
  return ratio(latency_p50_us, copy_in_us + device_us + copy_out_us);
}

double PipelineFigures::hidden_share() const {
  const double longest_us = std::max({copy_in_us, device_us, copy_out_us});
  const double beside_us = copy_in_us + device_us + copy_out_us - longest_us;
  return beside_us > 0 ? std::clamp(1 - (period_us - longest_us) / beside_us, 0.0, 1.0) : 1;
}

PipelineFigures run_pipeline_bench(const PipelineBenchOptions& options) {
  const WorkloadOptions& workload = options.workload;
  const auto ticks = static_cast<std::size_t>(options.ticks > 0 ? options.ticks : workload.ticks);
  const std::unique_ptr<Engine> engine = options.make_engine(workload.space);
  Drive drive(*engine, workload, ticks);
  Samples samples;
  drive.run_pipelined(samples);  // not measured: it allocates the memory for both kinds of burst
  samples = {};
  const std::size_t bursts = (ticks + drive.burst_ticks() - 1) / drive.burst_ticks();
  for (std::size_t i = 0; i < bursts; ++i) drive.run_singly(samples);
  for (std::size_t i = 0; i < bursts; ++i) drive.run_pipelined(samples);
  return {.workload = workload.name,
          .ticks = static_cast<int>(bursts * drive.burst_ticks()),
          .latency_p50_us = median(samples.latency_us),
          .latency_p99_us = percentile(samples.latency_us, 0.99),
          .period_us = median(samples.period_us),
          .copy_in_us = median(samples.copy_in_us),
          .device_us = median(samples.device_us),
          .copy_out_us = median(samples.copy_out_us),
          .bytes_in = static_cast<double>(drive.bytes_in()),
          .bytes_out = median(samples.bytes_out)};
}

}  // namespace starling::bench
