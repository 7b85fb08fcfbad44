// SPDX-License-Identifier: Apache-2.0
// The workload `million`: a million objects that all move and a hundred thousand standing queries.
// The server ticks by the clock. Producers send the position of every object once per tick, evenly
// over the period of the tick. Each stream has a subscriber, which reads all its lists.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "starling/bench/server/bare_zmq.hpp"
#include "starling/bench/server/list_readers.hpp"
#include "starling/bench/server/server_load.hpp"
#include "starling/bench/server/server_workloads.hpp"
#include "starling/knn/base/clocks.hpp"
#include "starling/knn/base/percentile.hpp"

namespace starling::bench {
namespace {

constexpr std::uint32_t objects = 1'000'000;
constexpr std::uint32_t queries = 100'000;
constexpr std::size_t producers = 8;
constexpr std::size_t rows_per_batch = 5000;
constexpr std::size_t steps = 4;
constexpr double rate_hz_default = 10;
constexpr double duration_s_default = 60;
constexpr double warm_up_share = 0.1;
/// A rate is sustained only if the server answers at least this share of the rows.
constexpr double rows_share_min = 0.99;
constexpr std::chrono::seconds first_tick_patience{60};
constexpr std::chrono::seconds last_tick_patience{10};

/// When a batch was sent and answered, on the wall clock. Ticks carry wall-clock times too.
struct Batch {
  std::int64_t sent_us = 0;
  std::int64_t answered_us = 0;
  std::size_t rows = 0;
};

/// Sends a part of the objects, with its own connection and thread. Each batch is answered before
/// the next one is sent.
class Producer {
 public:
  Producer(const ServerChild& server, const Feed& feed, std::size_t number, double rate_hz)
      : client_(server),
        feed_(feed),
        begin_(feed.objects().count() * number / producers),
        end_(feed.objects().count() * (number + 1) / producers),
        thread_([this, rate_hz] {
          try {
            produce(rate_hz);
          } catch (...) {
            error_ = std::current_exception();
          }
        }) {}
  ~Producer() { stop(); }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  void stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  /// Call after stop(). Rethrows the exception of the thread if it had one.
  const std::vector<Batch>& batches() const {
    if (error_) std::rethrow_exception(error_);
    return batches_;
  }

 private:
  void produce(double rate_hz) {
    const std::size_t batches = (end_ - begin_ + rows_per_batch - 1) / rows_per_batch;
    if (batches == 0) return;
    Pace pace(rate_hz * static_cast<double>(batches));
    for (std::uint64_t step = 0;; ++step)
      for (std::size_t begin = begin_; begin < end_; begin += rows_per_batch) {
        pace.wait();
        if (stopping_) return;
        send(feed_.step(there_and_back(step, steps)), begin,
             std::min(begin + rows_per_batch, end_));
      }
  }

  void send(const Rows& rows, std::size_t begin, std::size_t end) {
    Batch batch{.sent_us = wall_now_us(), .rows = end - begin};
    client_.post(rows, begin, end, batch.sent_us);
    client_.flush();
    batch.answered_us = wall_now_us();
    batches_.push_back(batch);
  }

  LoadClient client_;
  const Feed& feed_;
  std::size_t begin_;
  std::size_t end_;
  std::vector<Batch> batches_;
  std::exception_ptr error_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

/// How much the server's counters increased between the constructor and look_again().
class Counted {
 public:
  explicit Counted(LoadClient& client) : client_(client), before_(read()) {}

  void look_again() { after_ = read(); }

  double increase(const std::string& name) const { return after_.at(name) - before_.at(name); }
  /// Returns the mean time of a stage of the tick.
  double stage_ms(const std::string& stage) const {
    const std::string label = "{stage=\"" + stage + "\"}";
    const double count = increase("starling_tick_stage_seconds_count" + label);
    return count > 0 ? increase("starling_tick_stage_seconds_sum" + label) / count * 1e3 : 0;
  }

 private:
  using Values = std::map<std::string, double>;

  Values read() {
    const auto stats = client_.client().get_stats().value();
    return {stats.begin(), stats.end()};
  }

  LoadClient& client_;
  Values before_;
  Values after_;
};

struct Window {
  std::int64_t begin_us = 0;
  std::int64_t end_us = 0;
  bool holds(std::int64_t time_us) const { return begin_us <= time_us && time_us < end_us; }
  double seconds() const { return static_cast<double>(end_us - begin_us) / 1e6; }
};

double ms(std::int64_t us) {
  return static_cast<double>(us) / 1e3;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// What the clients measured of the ticks and batches in a window.
struct Outcome {
  std::vector<double> update_ms;    ///< one time for each batch; see latency_* in --help
  std::vector<double> tick_ms;      ///< time between tau and the moment when all lists were read
  std::vector<double> interval_ms;  ///< time between the tau of one tick and the tau of the next
  double lost = 0;
  double lists = 0;
  double bytes = 0;
  double rows = 0;
};

void add_ticks(const std::vector<HeldTick>& ticks, const Window& window, Outcome& outcome) {
  const HeldTick* last = nullptr;
  for (const HeldTick& tick : ticks) {
    if (!window.holds(tick.tau_us)) continue;
    outcome.tick_ms.push_back(ms(tick.held_us - tick.tau_us));
    outcome.lists += static_cast<double>(tick.lists);
    outcome.bytes += static_cast<double>(tick.bytes);
    if (last != nullptr) outcome.interval_ms.push_back(ms(tick.tau_us - last->tau_us));
    last = &tick;
  }
}

void add_batches(const std::vector<Batch>& batches, const std::vector<HeldTick>& ticks,
                 const Window& window, Outcome& outcome) {
  for (const Batch& batch : batches) {
    if (window.holds(batch.answered_us)) outcome.rows += static_cast<double>(batch.rows);
    const auto first_with_it =
        std::ranges::lower_bound(ticks, batch.answered_us, {}, &HeldTick::tau_us);
    if (window.holds(batch.sent_us) && first_with_it != ticks.end())
      outcome.update_ms.push_back(ms(first_with_it->held_us - batch.sent_us));
  }
}

std::vector<Figure> figures_of(const Outcome& outcome, const Counted& counted, double rate_hz,
                               const Window& window) {
  const double ticks = std::max(1.0, counted.increase("starling_ticks_total"));
  const auto per_tick_ms = [&](const char* name) { return counted.increase(name) / ticks * 1e3; };
  const double total_ms = counted.stage_ms("total");
  const double publish_ms = counted.stage_ms("publish");
  return {{"rate_hz", rate_hz},
          {"ticks_per_s", counted.increase("starling_ticks_total") / window.seconds()},
          {"overruns", counted.increase("starling_tick_overruns_total")},
          {"lost", outcome.lost},
          {"updates_per_s", outcome.rows / window.seconds()},
          {"latency_p50_ms", percentile(outcome.update_ms, 0.5)},
          {"latency_p99_ms", percentile(outcome.update_ms, 0.99)},
          {"tick_p50_ms", percentile(outcome.tick_ms, 0.5)},
          {"tick_p99_ms", percentile(outcome.tick_ms, 0.99)},
          {"interval_p99_ms", percentile(outcome.interval_ms, 0.99)},
          {"decode_ms", per_tick_ms("starling_decode_seconds_total")},
          {"apply_ms", per_tick_ms("starling_apply_seconds_total")},
          {"copy_in_ms", counted.stage_ms("copy_in")},
          {"build_ms", counted.stage_ms("build")},
          {"search_ms", counted.stage_ms("search")},
          {"diff_ms", counted.stage_ms("diff")},
          {"copy_out_ms", counted.stage_ms("copy_out")},
          {"report_ms", counted.stage_ms("report")},
          {"total_ms", total_ms},
          {"encode_ms", counted.stage_ms("encode")},
          {"publish_ms", publish_ms},
          {"transport_ms", mean(outcome.tick_ms) - total_ms - publish_ms},
          {"lists_per_tick", outcome.lists / ticks},
          {"mb_per_tick", outcome.bytes / ticks / 1e6}};
}

/// Divides the queries among streams. Returns the streams' names.
std::vector<std::string> put_streams(LoadClient& client,
                                     const std::vector<protocol::QuerySpec>& specs,
                                     unsigned count) {
  std::vector<std::string> streams;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = specs.size() * i / count;
    const std::size_t end = specs.size() * (i + 1) / count;
    streams.push_back("bench" + std::to_string(i));
    client.put_stream(streams.back(), std::span(specs).subspan(begin, end - begin));
  }
  return streams;
}

/// Measures one rate. Returns false if the server did not sustain it.
bool run_at(double rate_hz, const Feed& feed, const ServerBenchOptions& options,
            const FiguresHandler& handler) {
  const auto period_us = static_cast<std::int64_t>(std::round(1e6 / rate_hz));
  const ServerChild server(options.program,
                           with_flags({"--tick", std::to_string(period_us) + "us"}, options));
  LoadClient client(server);
  const std::vector<std::string> streams = put_streams(client, feed.queries(), options.streams);
  client.post(feed.objects(), 1);
  client.flush();
  ListReaders readers(server, streams);
  std::vector<std::unique_ptr<Producer>> all;
  for (std::size_t i = 0; i < producers; ++i)
    all.push_back(std::make_unique<Producer>(server, feed, i, rate_hz));

  const double duration_s = options.duration_s > 0 ? options.duration_s : duration_s_default;
  const auto sleep_s = [](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };
  for (const auto start = Clock::now(); !readers.have_tick_of(0); sleep_s(1e-3))
    if (Clock::now() - start > first_tick_patience)
      throw std::runtime_error("the subscribers have had no tick within 60 s");
  sleep_s(warm_up_share * duration_s);
  const Meter meter(server);
  Counted counted(client);
  Window window{.begin_us = wall_now_us()};
  sleep_s(duration_s);
  window.end_us = wall_now_us();
  counted.look_again();
  ServerFigures row = meter.row("million", {});
  for (const auto& producer : all) producer->stop();
  bool has_all = false;  // whether the readers have read all ticks of the window
  for (const auto start = Clock::now(); !has_all && Clock::now() - start < last_tick_patience;
       sleep_s(1e-3))
    has_all = readers.have_tick_of(window.end_us);
  readers.stop();

  const std::vector<HeldTick> ticks = readers.ticks();
  Outcome outcome;
  outcome.lost = static_cast<double>(readers.lost(window.begin_us, window.end_us));
  add_ticks(ticks, window, outcome);
  for (const auto& producer : all) add_batches(producer->batches(), ticks, window, outcome);
  row.figures = figures_of(outcome, counted, rate_hz, window);
  row.figures.push_back({"bare_zmq_p50_ms", bare_zmq_p50_ms(readers.frame_bytes())});
  handler(row);
  const double rows_asked =
      rate_hz * window.seconds() * static_cast<double>(feed.objects().count());
  return has_all && counted.increase("starling_tick_overruns_total") == 0 && outcome.lost == 0 &&
         outcome.rows >= rows_share_min * rows_asked;
}

}  // namespace

void run_million(const ServerBenchOptions& options, const FiguresHandler& handler) {
  WorkloadOptions load = *find_workload("1M-1M");
  load.objects = scaled(objects, options.scale);
  load.queries = scaled(queries, options.scale);
  const Feed feed(load, steps);
  std::vector<double> rates_hz = options.rates_hz;
  if (rates_hz.empty()) rates_hz = {rate_hz_default};
  for (const double rate_hz : rates_hz)
    if (!run_at(rate_hz, feed, options, handler)) return;
}

}  // namespace starling::bench
