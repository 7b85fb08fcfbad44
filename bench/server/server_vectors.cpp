// SPDX-License-Identifier: Apache-2.0
// The workload `vectors`: like `tick`, but in a vector space and at a steady rate of ticks. After
// the measurement, the lists that the subscriber held at each tick are compared with an oracle. The
// oracle shares only the definition of a distance with the product.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "starling/bench/server/server_listener.hpp"
#include "starling/bench/server/server_load.hpp"
#include "starling/bench/server/server_workloads.hpp"
#include "starling/bench/server/timed_ticks.hpp"
#include "starling/bench/vectors/knn_data.hpp"
#include "starling/knn/base/percentile.hpp"

namespace starling::bench {
namespace {

constexpr const char* stream = "bench";
constexpr std::uint32_t dimension = 128;
constexpr std::uint32_t objects_full = 100'000;
constexpr std::uint32_t queries_full = 100;
constexpr std::uint32_t k = 10;
constexpr double moving_share = 0.01;
constexpr double rate_hz = 10;
constexpr double duration_s_default = 20;
constexpr std::size_t warm_up = 5;
constexpr std::size_t vectors_per_batch = 250;  // 136 KB
constexpr std::uint64_t objects_seed = 1;
constexpr std::uint64_t queries_seed = 2;
constexpr std::uint64_t first_step_seed = 3;

/// The new vectors of some objects.
struct Step {
  std::vector<std::uint64_t> ids;
  std::vector<float> components;
};

/// All data that the workload sends. It is made before the measurement.
struct VectorLoad {
  std::vector<float> queries;  ///< the components of the queries, row by row
  Step objects;
  std::vector<Step> steps;

  std::size_t query_count() const { return queries.size() / dimension; }
};

Step step_of(std::vector<std::uint64_t> ids, std::uint64_t seed) {
  const auto rows = static_cast<std::uint32_t>(ids.size());
  return {std::move(ids), random_rows(Metric::l2, rows, dimension, seed)};
}

VectorLoad make_load(double scale, std::size_t steps) {
  const std::uint32_t objects = scaled(objects_full, scale);
  VectorLoad load;
  load.queries = random_rows(Metric::l2, scaled(queries_full, scale), dimension, queries_seed);
  std::vector<std::uint64_t> all(objects);
  for (std::uint32_t object = 0; object < objects; ++object) all[object] = object;
  load.objects = step_of(all, objects_seed);
  std::mt19937_64 random(objects_seed);
  const std::uint32_t moving = scaled(objects, moving_share);
  for (std::size_t step = 0; step < steps; ++step) {
    std::vector<std::uint64_t> moved;
    std::ranges::sample(all, std::back_inserter(moved), moving, random);
    load.steps.push_back(step_of(std::move(moved), first_step_seed + step));
  }
  return load;
}

using Lists = std::map<std::uint64_t, std::vector<protocol::HeldNeighbor>>;

Lists lists_of(const protocol::ListStore& held) {
  Lists lists;
  for (const auto& [key, list] : held) lists[to_number(key.query)] = list.neighbors;
  return lists;
}

/// Computes every distance with the sum that docs/vectors.md defines, and finds each list by
/// sorting.
class Oracle {
 public:
  explicit Oracle(const VectorLoad& load)
      : queries_(load.queries),
        query_count_(load.query_count()),
        scores_(query_count_ * load.objects.ids.size()) {
    apply(load.objects);
  }

  void apply(const Step& step) {
    for_each_range(step.ids.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row)
        for (std::size_t query = 0; query < query_count_; ++query)
          scores_[query * object_count() + step.ids[row]] = score(query, step, row);
    });
  }

  std::vector<protocol::HeldNeighbor> list_of(std::size_t query) const {
    std::vector<std::pair<float, std::uint64_t>> all(object_count());
    for (std::size_t object = 0; object < all.size(); ++object)
      all[object] = {scores_[query * object_count() + object], object};
    const auto end =
        all.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(k, all.size()));
    std::partial_sort(all.begin(), end, all.end());
    std::vector<protocol::HeldNeighbor> list;
    for (auto each = all.begin(); each != end; ++each)
      list.push_back({ObjectId{each->second}, std::sqrt(static_cast<double>(each->first))});
    return list;
  }

  std::size_t query_count() const { return query_count_; }

 private:
  std::size_t object_count() const { return scores_.size() / query_count_; }

  float score(std::size_t query, const Step& step, std::size_t row) const {
    float sum = 0;
    for (std::size_t j = 0; j < dimension; ++j) {
      const float difference =
          queries_[query * dimension + j] - step.components[row * dimension + j];
      sum = std::fma(difference, difference, sum);
    }
    return sum;
  }

  const std::vector<float>& queries_;
  std::size_t query_count_;
  std::vector<float> scores_;  ///< [query][object]
};

/// Compares all lists in `held` with the oracle's and returns how many there are. Throws
/// std::runtime_error at the first difference. `held` has one entry for each tick: first the tick
/// that brings all objects, then one tick for each step.
std::size_t check(const VectorLoad& load, const std::vector<Lists>& held) {
  Oracle oracle(load);
  std::size_t checked = 0;
  for (std::size_t tick = 0; tick < held.size(); ++tick) {
    if (tick > 0) oracle.apply(load.steps[tick - 1]);
    if (held[tick].size() != oracle.query_count())
      throw std::runtime_error("the subscriber does not hold a list for each query");
    for (const auto& [query, list] : held[tick]) {
      if (list != oracle.list_of(query))
        throw std::runtime_error("the list of query " + std::to_string(query) + " at tick " +
                                 std::to_string(tick) + " is not the oracle's");
      ++checked;
    }
  }
  return checked;
}

std::vector<protocol::QuerySpec> queries_of(const VectorLoad& load) {
  std::vector<protocol::QuerySpec> queries;
  for (std::size_t query = 0; query < load.query_count(); ++query) {
    const auto row = std::span(load.queries).subspan(query * dimension, dimension);
    queries.push_back({.id = QueryId{query}, .k = k, .vector = {row.begin(), row.end()}});
  }
  return queries;
}

void post(LoadClient& client, const Step& step, std::int64_t time_us) {
  const std::vector<std::int64_t> times_us(vectors_per_batch, time_us);
  for (std::size_t begin = 0; begin < step.ids.size(); begin += vectors_per_batch) {
    const std::size_t count = std::min(vectors_per_batch, step.ids.size() - begin);
    client.post({.ids = std::span(step.ids).subspan(begin, count),
                 .times_us = std::span(times_us).first(count),
                 .coordinates_f32 =
                     std::span(step.components).subspan(begin * dimension, count * dimension),
                 .dimension = dimension});
  }
}

}  // namespace

void run_vectors(const ServerBenchOptions& options, const FiguresHandler& handler) {
  const double duration_s = options.duration_s > 0 ? options.duration_s : duration_s_default;
  const auto ticks = static_cast<std::size_t>(std::max(1.0, duration_s * rate_hz));
  const VectorLoad load = make_load(options.scale, warm_up + ticks);
  const ServerChild server(
      options.program,
      with_flags({"--tick", "manual", "--space", "vector:" + std::to_string(dimension)}, options));
  LoadClient client(server);
  client.put_stream(stream, queries_of(load));
  client.client().advance_tick(0).value();
  std::vector<Lists> held;
  Listener listener(server, stream,
                    [&](const protocol::ListStore& lists) { held.push_back(lists_of(lists)); });

  constexpr std::int64_t tick_us = 1;
  TimedTicks timed(client, listener, tick_us);
  const auto tick_ms = [&](const Step& step) {
    return timed.run([&](std::int64_t tau_us) { post(client, step, tau_us); });
  };

  const double first_ms = tick_ms(load.objects);
  for (std::size_t step = 0; step < warm_up; ++step) tick_ms(load.steps[step]);
  timed.forget_warm_up();
  const Meter meter(server);
  std::vector<double> latencies_ms;
  double overruns = 0;
  Pace pace(rate_hz);
  for (std::size_t step = 0; step < ticks; ++step) {
    pace.wait();
    latencies_ms.push_back(tick_ms(load.steps[warm_up + step]));
    if (latencies_ms.back() > 1e3 / rate_hz) ++overruns;
  }
  ServerFigures row = meter.row("vectors", {});
  row.figures = {{"rate_hz", rate_hz},
                 {"latency_median_ms", median(latencies_ms)},
                 {"latency_p99_ms", percentile(latencies_ms, 0.99)},
                 {"latency_max_ms", percentile(latencies_ms, 1)},
                 {"overruns", overruns},
                 {"engine_median_ms", median(timed.engine_ms())},
                 {"first_ms", first_ms},
                 {"lists_per_tick", timed.lists_per_tick()},
                 {"ticks", static_cast<double>(ticks)},
                 {"lists_checked", static_cast<double>(check(load, held))}};
  handler(row);
}

}  // namespace starling::bench
