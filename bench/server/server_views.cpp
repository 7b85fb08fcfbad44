// SPDX-License-Identifier: Apache-2.0
// The workload `views`: the messages that a page gets while many objects move. The server ticks by
// the clock, producers send the positions of all objects again and again, and one WebSocket reads a
// view.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "starling/bench/server/server_load.hpp"
#include "starling/bench/server/server_workloads.hpp"
#include "starling/bench/server/view_reader.hpp"
#include "starling/knn/base/clocks.hpp"
#include "starling/knn/base/percentile.hpp"

namespace starling::bench {
namespace {

constexpr std::uint32_t many_objects = 1'000'000;
constexpr std::uint32_t shown_objects = 100'000;
constexpr std::uint32_t queries = 100;
constexpr std::size_t producers = 2;
constexpr std::size_t steps = 4;
constexpr double duration_s_default = 10;
constexpr double warm_up_share = 0.2;
constexpr double square_m = 20'000;  // side of the square that has all objects

/// One case of the workload: the number of objects and the part of the square in view.
struct Shown {
  const char* name;
  std::uint32_t objects = 0;
  double side_m = square_m;  ///< side of the square that the view shows
};

constexpr Shown raster{"views-raster", many_objects};
constexpr Shown part{"views-part", many_objects, square_m * 0.316};  // a tenth of the square
constexpr Shown points{"views-points", shown_objects};

/// Sends a part of the rows, again and again, on a thread of its own.
class Producer {
 public:
  Producer(const ServerChild& server, Rows rows, double rows_per_s)
      : client_(server), feed_(client_, std::move(rows)) {
    sent_ = std::async(std::launch::async, [this, rows_per_s] {
      feed_.run_at(rows_per_s, [this](std::uint64_t accepted) {
        accepted_ = accepted;
        return is_stopping_.load();
      });
    });
  }
  ~Producer() { is_stopping_ = true; }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  /// Stops the thread. Rethrows its exception if it had one.
  void stop() {
    is_stopping_ = true;
    sent_.get();
  }
  std::uint64_t accepted() const { return accepted_; }

 private:
  LoadClient client_;
  EndlessFeed feed_;
  std::atomic<std::uint64_t> accepted_{0};
  std::atomic<bool> is_stopping_{false};
  std::future<void> sent_;  ///< result of the thread; the destructor waits for it
};

void sleep_s(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

double ms(std::int64_t us) {
  return static_cast<double>(us) / 1e3;
}

std::vector<Figure> figures_of(const std::vector<ShownFrame>& frames, std::int64_t begin_us,
                               std::int64_t end_us) {
  std::vector<double> interval_ms;
  std::vector<double> age_ms;
  double bytes = 0;
  double rasters = 0;
  double in_view = 0;
  std::int64_t last_us = begin_us;
  for (const ShownFrame& frame : frames) {
    if (frame.received_us < begin_us || frame.received_us >= end_us) continue;
    interval_ms.push_back(ms(frame.received_us - last_us));
    age_ms.push_back(ms(frame.received_us - frame.tau_us));
    last_us = frame.received_us;
    bytes += static_cast<double>(frame.bytes);
    rasters += frame.is_raster ? 1 : 0;
    in_view = static_cast<double>(frame.in_view);
  }
  const auto count = static_cast<double>(interval_ms.size());
  interval_ms.push_back(ms(end_us - last_us));
  const double elapsed_s = ms(end_us - begin_us) / 1e3;
  return {{"frames_per_s", count / elapsed_s},
          {"rasters_per_s", rasters / elapsed_s},
          {"interval_max_ms", *std::ranges::max_element(interval_ms)},
          {"age_p50_ms", percentile(age_ms, 0.5)},
          {"age_p99_ms", percentile(age_ms, 0.99)},
          {"mb_per_s", bytes / elapsed_s / 1e6},
          {"in_view", in_view}};
}

void run_at(double rate_hz, const Shown& shown, const Feed& feed, const ServerBenchOptions& options,
            const FiguresHandler& handler) {
  const auto period_us = static_cast<std::int64_t>(1e6 / options.view_ticks_per_s);
  const ServerChild server(options.program,
                           with_flags({"--tick", std::to_string(period_us) + "us"}, options));
  LoadClient client(server);
  client.put_stream("bench", feed.queries());
  client.post(feed.objects(), 1);
  client.flush();
  const double rows_per_s = rate_hz * static_cast<double>(feed.objects().count());
  std::vector<std::unique_ptr<Producer>> all;
  for (std::size_t i = 0; i < producers; ++i)
    all.push_back(std::make_unique<Producer>(server, feed.all_steps_of(i, producers),
                                             rows_per_s / producers));
  const std::int64_t asked_us = wall_now_us();
  ViewReader reader(server, {.rectangle = {0, 0, shown.side_m, shown.side_m},
                             .ticks_per_s = options.view_ticks_per_s,
                             .bytes_per_s = 10'000'000,
                             .objects_max = protocol::View::most_objects});
  const auto accepted = [&] {
    std::uint64_t rows = 0;
    for (const auto& producer : all) rows += producer->accepted();
    return static_cast<double>(rows);
  };
  const auto ticks = [&] {
    for (const auto& [name, value] : client.client().get_stats().value())
      if (name == "starling_ticks_total") return value;
    return 0.0;
  };
  const double duration_s = options.duration_s > 0 ? options.duration_s : duration_s_default;
  sleep_s(warm_up_share * duration_s);
  const Meter meter(server);
  const double rows_before = accepted();
  const double ticks_before = ticks();
  const std::int64_t begin_us = wall_now_us();
  sleep_s(duration_s);
  const std::int64_t end_us = wall_now_us();
  const double elapsed_s = ms(end_us - begin_us) / 1e3;
  ServerFigures row =
      meter.row(shown.name, {{"objects", static_cast<double>(feed.objects().count())},
                             {"rate_hz", rate_hz},
                             {"updates_per_s", (accepted() - rows_before) / elapsed_s},
                             {"ticks_per_s", (ticks() - ticks_before) / elapsed_s}});
  reader.stop();
  for (const auto& producer : all) producer->stop();
  const std::vector<ShownFrame>& frames = reader.frames();
  row.figures.push_back(
      {"first_ms", ms((frames.empty() ? end_us : frames.front().received_us) - asked_us)});
  const std::vector<Figure> figures = figures_of(frames, begin_us, end_us);
  row.figures.insert(row.figures.end(), figures.begin(), figures.end());
  handler(row);
}

}  // namespace

void run_views(const ServerBenchOptions& options, const FiguresHandler& handler) {
  std::vector<double> rates_hz = options.rates_hz;
  if (rates_hz.empty()) rates_hz = {1, 10};
  for (const Shown& shown : {raster, part, points}) {
    WorkloadOptions load = *find_workload("1M-1M");
    load.objects = scaled(shown.objects, options.scale);
    load.queries = scaled(queries, options.scale);
    const Feed feed(load, steps);
    for (const double rate_hz : rates_hz) run_at(rate_hz, shown, feed, options, handler);
  }
}

}  // namespace starling::bench
