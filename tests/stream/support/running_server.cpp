// SPDX-License-Identifier: Apache-2.0
// Runs a server on a thread of its own, and makes clients that connect to it: see
// running_server.hpp.
#include "tests/stream/support/running_server.hpp"

#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <spdlog/spdlog.h>

#include "starling/cpu/backend.hpp"

namespace starling::stream {

namespace asio = boost::asio;

namespace {

// When a server restarts, requests that have not reached it are lost. The client sends them again
// after this time.
constexpr std::int64_t reconnect_after_ms = 2000;

}  // namespace

ServerOptions manual_options() {
  ServerOptions options;
  options.commands_endpoint = "tcp://127.0.0.1:*";
  options.results_endpoint = "tcp://127.0.0.1:*";
  options.http_port = 0;
  options.tick_period_us.reset();
  options.linger_ms = 200;
  options.metrics_period_us = 0;
  options.processor.objects.objects_max = 1u << 20;
  options.limits.rows_max = 1u << 18;  // many tests need requests that take long
  return options;
}

std::unique_ptr<Engine> make_engine(const SpaceOptions& space) {
  return cpu::make_engine({.space = space, .threads = 1});
}

RunningServer::RunningServer(const ServerOptions& options)
    : RunningServer(options, make_engine(options.processor.space)) {}

RunningServer::RunningServer(const ServerOptions& options, std::unique_ptr<Engine> engine)
    : server_(std::make_unique<Server>(options, std::move(engine))),
      thread_([this] { server_->run(); }) {
  spdlog::set_level(spdlog::level::err);  // no log line for each session
}

RunningServer::~RunningServer() {
  stop();
}

void RunningServer::stop() {
  if (!thread_.joinable()) return;
  server_->stop();
  thread_.join();
  server_.reset();
}

protocol::Client RunningServer::client() const {
  return protocol::Client(
      *context_,
      {.commands = endpoints().commands, .name = "test", .reconnect_after_ms = reconnect_after_ms});
}

protocol::SubscriberOptions RunningServer::subscriber_options(std::string stream) const {
  protocol::SubscriberOptions options;
  options.results = endpoints().results;
  options.client.commands = endpoints().commands;
  options.client.name = "subscriber";
  options.client.reconnect_after_ms = reconnect_after_ms;
  options.subscription.stream = std::move(stream);
  options.retry_interval_ms = 1;
  return options;
}

double RunningServer::stat(std::string_view name) {
  if (!stats_client_) stats_client_.emplace(client());
  const auto values = stats_client_->get_stats().value();
  for (const auto& [known, value] : values)
    if (known == name) return value;
  throw std::out_of_range("there is no counter " + std::string(name));
}

void Fixes::add(std::uint64_t id, std::int64_t time_us, double x, double y) {
  ids.push_back(id);
  times_us.push_back(time_us);
  coordinates.insert(coordinates.end(), {x, y});
}

protocol::UpdateBatch Fixes::batch() const {
  return {.ids = ids,
          .times_us = times_us,
          .components = 2,
          .coordinates = coordinates,
          .coordinates_f32 = {},
          .tags = {}};
}

protocol::QuerySpec nearest_to(std::uint64_t id, std::uint32_t k, double x, double y) {
  protocol::QuerySpec query;
  query.id = QueryId{id};
  query.k = k;
  query.position = {x, y, 0};
  return query;
}

bool happens(const std::function<bool()>& step) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < deadline)
    if (step()) return true;
  return false;
}

std::string http_exchange(const std::string& endpoint, std::string_view request) {
  const std::size_t colon = endpoint.rfind(':');
  const auto port = static_cast<std::uint16_t>(std::stoi(endpoint.substr(colon + 1)));
  asio::io_context loop;
  asio::ip::tcp::socket socket(loop);
  socket.connect({asio::ip::make_address(endpoint.substr(0, colon)), port});
  asio::write(socket, asio::buffer(request));
  std::string answer;
  bool is_done = false;
  asio::async_read(socket, asio::dynamic_buffer(answer),
                   [&](const boost::system::error_code&, std::size_t) { is_done = true; });
  loop.run_for(patience);
  if (!is_done) socket.close();
  return answer;
}

std::string http_get(const std::string& endpoint, std::string_view target) {
  return http_exchange(endpoint, "GET " + std::string(target) +
                                     " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
}

}  // namespace starling::stream
