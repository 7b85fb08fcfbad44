// SPDX-License-Identifier: Apache-2.0
// The workloads `questions` and `soak` measure the time of one question while updates arrive and
// ticks run.
#include <atomic>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "starling/bench/server/server_load.hpp"
#include "starling/bench/server/server_workloads.hpp"
#include "starling/knn/base/percentile.hpp"

namespace starling::bench {
namespace {

constexpr std::size_t steps = 40;
constexpr double questions_duration_s = 8;
constexpr double questions_updates_per_s = 500'000;
constexpr double capacity_s = 5;
constexpr double soak_duration_s = 600;
constexpr double soak_row_s = 60;
constexpr double soak_questions_per_s = 100;

/// Sends updates at a steady pace, with its own thread and connection.
class PacedUpdates {
 public:
  PacedUpdates(const ServerChild& server, const Feed& feed, double rows_per_s)
      : client_(server), thread_([this, &feed, rows_per_s] {
          try {
            EndlessFeed(client_, feed).run_at(rows_per_s, [this](std::uint64_t accepted) {
              accepted_ = accepted;
              return stopping_.load();
            });
          } catch (...) {
            error_ = std::current_exception();
          }
        }) {}
  ~PacedUpdates() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  PacedUpdates(const PacedUpdates&) = delete;
  PacedUpdates& operator=(const PacedUpdates&) = delete;

  double accepted() const { return static_cast<double>(accepted_); }

  /// Stops the thread. Rethrows its exception if it had one.
  void finish() {
    stopping_ = true;
    thread_.join();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  LoadClient client_;
  std::atomic<std::uint64_t> accepted_{0};
  std::atomic<bool> stopping_{false};
  std::exception_ptr error_;
  std::thread thread_;
};

/// A client that asks one question at a time.
class Questioner {
 public:
  Questioner(const ServerChild& server, std::vector<protocol::QuerySpec> questions)
      : client_(server), questions_(std::move(questions)) {}

  /// Asks the next question. Returns the microseconds until the answer is there.
  double ask_us() {
    const protocol::GetNeighbors request{{questions_[next_++ % questions_.size()]}};
    const auto start = Clock::now();
    client_.client().get_neighbors(request).value();
    return ms_between(start, Clock::now()) * 1e3;
  }

 private:
  LoadClient client_;
  std::vector<protocol::QuerySpec> questions_;
  std::size_t next_ = 0;
};

/// Returns round-trip times of ZeroMQ alone, in microseconds, between two threads that do nothing
/// else. This is the part of an answer's time that the sockets of this machine need.
std::vector<double> echo_us(double seconds) {
  zmq::context_t server_context;
  zmq::socket_t server(server_context, zmq::socket_type::rep);
  server.bind("tcp://127.0.0.1:*");
  const std::string endpoint = server.get(zmq::sockopt::last_endpoint);
  std::thread thread([&server] {
    for (zmq::message_t message; server.recv(message) && !message.empty();)
      server.send(message, zmq::send_flags::none);
  });
  zmq::context_t context;
  zmq::socket_t client(context, zmq::socket_type::req);
  client.set(zmq::sockopt::linger, 0);
  client.connect(endpoint);
  std::vector<double> us;
  for (const auto start = Clock::now(); seconds_since(start) < seconds;) {
    zmq::message_t message(64);
    const auto sent = Clock::now();
    client.send(message, zmq::send_flags::none);
    static_cast<void>(client.recv(message));
    us.push_back(ms_between(sent, Clock::now()) * 1e3);
  }
  client.send(zmq::message_t(), zmq::send_flags::none);  // ends the thread
  thread.join();
  return us;
}

/// Puts the objects and queries of the feed into the server.
void fill(const ServerChild& server, const Feed& feed) {
  LoadClient client(server);
  client.put_stream("bench", feed.queries());
  client.post(feed.objects(), 1);
  client.flush();
}

std::vector<Figure> latencies(const std::vector<double>& us) {
  return {{"latency_p50_us", percentile(us, 0.5)},
          {"latency_p99_us", percentile(us, 0.99)},
          {"latency_p999_us", percentile(us, 0.999)}};
}

}  // namespace

void run_questions(const ServerBenchOptions& options, const FiguresHandler& handler) {
  const Feed feed(scaled("W3", options.scale), steps);
  const ServerChild server(options.program, with_flags({"--tick", "250ms"}, options));
  fill(server, feed);
  const double duration_s = options.duration_s > 0 ? options.duration_s : questions_duration_s;
  const std::vector<double> echo = echo_us(0.1 * duration_s);
  PacedUpdates updates(server, feed, questions_updates_per_s * options.scale);
  Questioner questioner(server, feed.queries());
  for (const auto start = Clock::now(); seconds_since(start) < 0.1 * duration_s;)
    questioner.ask_us();
  const double accepted_before = updates.accepted();
  const Meter meter(server);
  std::vector<double> us;
  while (meter.seconds() < duration_s) us.push_back(questioner.ask_us());
  std::vector<Figure> figures = latencies(us);
  figures.push_back({"questions_per_s", static_cast<double>(us.size()) / meter.seconds()});
  figures.push_back({"updates_per_s", (updates.accepted() - accepted_before) / meter.seconds()});
  figures.push_back({"echo_p50_us", percentile(echo, 0.5)});
  figures.push_back({"echo_p99_us", percentile(echo, 0.99)});
  handler(meter.row("questions", std::move(figures)));
  updates.finish();
}

void run_soak(const ServerBenchOptions& options, const FiguresHandler& handler) {
  const Feed feed(scaled("W3", options.scale), steps);
  const ServerChild server(options.program, with_flags({}, options));
  fill(server, feed);
  const double duration_s = options.duration_s > 0 ? options.duration_s : soak_duration_s;
  double rows_per_s = 0;
  {
    LoadClient client(server);
    const double seconds = std::min(capacity_s, duration_s);
    const Meter meter(server);
    const auto accepted = static_cast<double>(EndlessFeed(client, feed).run_for(seconds));
    rows_per_s = accepted / meter.seconds();
    handler(meter.row("soak capacity", {{"updates_per_s", rows_per_s}}));
  }
  PacedUpdates updates(server, feed, rows_per_s * options.share);
  Questioner questioner(server, feed.queries());
  Pace pace(soak_questions_per_s);
  const auto start = Clock::now();
  for (int row = 1; seconds_since(start) < duration_s; ++row) {
    const double end_s = std::min(row * soak_row_s, duration_s);
    const double accepted_before = updates.accepted();
    const Meter meter(server);
    std::vector<double> us;
    while (seconds_since(start) < end_s) {
      pace.wait();
      us.push_back(questioner.ask_us());
    }
    std::vector<Figure> figures = latencies(us);
    figures.push_back({"updates_per_s", (updates.accepted() - accepted_before) / meter.seconds()});
    figures.push_back({"minute", static_cast<double>(row)});
    handler(meter.row("soak", std::move(figures)));
  }
  updates.finish();
}

}  // namespace starling::bench
