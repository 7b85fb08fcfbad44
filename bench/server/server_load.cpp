// SPDX-License-Identifier: Apache-2.0
// Makes the rows and sends them in batches on time: see server_load.hpp.
#include "starling/bench/server/server_load.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>

#include "starling/knn/base/clocks.hpp"
#include "starling/protocol/wire/zmq_frames.hpp"

namespace starling::bench {

std::uint32_t scaled(std::uint32_t count, double scale) {
  return static_cast<std::uint32_t>(std::max(1.0, std::round(count * scale)));
}

WorkloadOptions scaled(std::string_view name, double scale) {
  WorkloadOptions options = *find_workload(name);
  options.objects = scaled(options.objects, scale);
  options.queries = scaled(options.queries, scale);
  return options;
}

Feed::Feed(const WorkloadOptions& options, std::size_t steps)
    : options_(options), workload_(options) {
  std::vector<std::uint32_t> all(options.objects);
  std::iota(all.begin(), all.end(), 0u);
  objects_ = rows_of(all);
  for (std::size_t i = 0; i < steps; ++i) steps_.push_back(rows_of(workload_.step()));
}

Rows Feed::rows_of(const std::vector<std::uint32_t>& objects) const {
  Rows rows;
  for (const std::uint32_t object : objects) {
    const Position at = workload_.position_of(workload_.objects()[object]);
    rows.ids.push_back(workload_.id_of(object));
    rows.coordinates.insert(rows.coordinates.end(), {at[0], at[1]});
  }
  return rows;
}

Rows Feed::all_steps() const {
  return all_steps_of(0, 1);
}

Rows Feed::all_steps_of(std::size_t part, std::size_t parts) const {
  Rows all;
  for (const Rows& rows : steps_) {
    const std::size_t begin = rows.count() * part / parts;
    const std::size_t end = rows.count() * (part + 1) / parts;
    const auto at = [](auto& values, std::size_t i) {
      return values.begin() + static_cast<std::ptrdiff_t>(i);
    };
    all.ids.insert(all.ids.end(), at(rows.ids, begin), at(rows.ids, end));
    all.coordinates.insert(all.coordinates.end(), at(rows.coordinates, 2 * begin),
                           at(rows.coordinates, 2 * end));
  }
  return all;
}

std::vector<protocol::QuerySpec> Feed::queries() const {
  std::vector<protocol::QuerySpec> queries;
  for (const Metres& metres : workload_.queries()) {
    protocol::QuerySpec query;
    query.id = QueryId{queries.size()};
    query.k = options_.k;
    query.position = workload_.position_of(metres);
    queries.push_back(query);
  }
  return queries;
}

LoadClient::LoadClient(const ServerChild& server)
    : client_(context_,
              {.commands = server.commands(), .name = "starling bench", .key = server.key()}) {}

void LoadClient::put_stream(std::string_view name, std::span<const protocol::QuerySpec> queries) {
  client_.put_stream({.name = name, .on = ReportOn::order, .with = {}}).value();
  for (std::size_t begin = 0; begin < queries.size(); begin += batch_rows) {
    const auto some = queries.subspan(begin, std::min(batch_rows, queries.size() - begin));
    const auto reply =
        client_.put_queries({.stream = name, .queries = {some.begin(), some.end()}}).value();
    if (reply.accepted != some.size()) throw std::runtime_error("the server refused a query");
  }
}

void LoadClient::post(const Rows& rows, std::size_t begin, std::size_t end, std::int64_t time_us) {
  const std::size_t count = end - begin;
  times_us_.assign(count, time_us);
  post({.ids = std::span(rows.ids).subspan(begin, count),
        .times_us = times_us_,
        .components = 2,
        .coordinates = std::span(rows.coordinates).subspan(2 * begin, 2 * count)});
}

void LoadClient::post(const protocol::UpdateBatch& batch) {
  if (const auto problem = client_.post(batch)) throw protocol::RefusedError(*problem);
  posted_ += batch.ids.size();
}

void LoadClient::post(const Rows& rows, std::int64_t time_us) {
  for (std::size_t begin = 0; begin < rows.count(); begin += batch_rows)
    post(rows, begin, std::min(begin + batch_rows, rows.count()), time_us);
}

std::uint64_t LoadClient::flush() {
  const protocol::BatchTotals totals = client_.flush();
  if (totals.first_refusal) throw protocol::RefusedError(*totals.first_refusal);
  if (totals.accepted != std::exchange(posted_, 0))
    throw std::runtime_error("the server did not accept every update");
  return totals.accepted;
}

void EndlessFeed::post_batch() {
  if (next_ + batch_rows > rows_.count()) next_ = 0;
  const std::size_t end = std::min(next_ + batch_rows, rows_.count());
  client_.post(rows_, next_, end, wall_now_us());
  next_ = end;
}

std::uint64_t EndlessFeed::run_for(double seconds) {
  for (const auto start = Clock::now(); seconds_since(start) < seconds;) post_batch();
  return client_.flush();
}

void EndlessFeed::run_at(double rows_per_s,
                         const std::function<bool(std::uint64_t accepted)>& stop) {
  // A flush waits for the next commit of the server's log, up to 10 ms.
  constexpr double flushes_per_s = 20;
  const double batches_per_s = rows_per_s / batch_rows;
  const auto batches_per_flush =
      static_cast<std::uint64_t>(std::max(1.0, batches_per_s / flushes_per_s));
  std::uint64_t accepted = 0;
  Pace pace(batches_per_s);
  for (std::uint64_t batch = 1; !stop(accepted); ++batch) {
    pace.wait();
    post_batch();
    if (batch % batches_per_flush == 0) accepted += client_.flush();
  }
  client_.flush();
}

std::optional<protocol::ReceivedTick> receive_tick_now(zmq::socket_t& socket) {
  zmq::message_t topic;
  if (!protocol::receive_now(socket, topic)) return std::nullopt;
  const auto messages = std::make_shared<std::vector<zmq::message_t>>();
  for (bool more = topic.more(); more; more = messages->back().more())
    protocol::receive_now(socket, messages->emplace_back());
  std::vector<protocol::AlignedBytes> frames;
  for (const zmq::message_t& message : *messages) frames.push_back(protocol::to_aligned(message));
  return protocol::receive_tick(std::move(frames), messages);
}

void Pace::wait() {
  const auto due = std::chrono::duration<double>(interval_s_ * static_cast<double>(calls_++));
  std::this_thread::sleep_until(start_ + std::chrono::duration_cast<Clock::duration>(due));
}

Meter::Meter(const ServerChild& server)
    : server_(server), server_cpu_s_(server.cpu_seconds()), client_cpu_s_(own_cpu_seconds()) {}

ServerFigures Meter::row(std::string workload, std::vector<Figure> figures) const {
  const double elapsed_s = seconds();
  return {.workload = std::move(workload),
          .figures = std::move(figures),
          .server_cpu = (server_.cpu_seconds() - server_cpu_s_) / elapsed_s,
          .client_cpu = (own_cpu_seconds() - client_cpu_s_) / elapsed_s,
          .memory = server_.memory()};
}

std::vector<std::string> with_flags(std::vector<std::string> flags,
                                    const ServerBenchOptions& options) {
  flags.insert(flags.end(), options.serve_flags.begin(), options.serve_flags.end());
  return flags;
}

}  // namespace starling::bench
