// SPDX-License-Identifier: Apache-2.0
// Owns the thread and its connections: see tls_relay.hpp.
#include "starling/stream/tls/tls_relay.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "starling/knn/base/clocks.hpp"
#include "starling/stream/tls/tls_connection.hpp"

namespace starling::stream {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

namespace {

constexpr std::chrono::milliseconds beat_period{250};
constexpr std::int64_t stop_us = 1'000'000;

/// OpenSSL writes to sockets without MSG_NOSIGNAL. The signal of a failed write goes to the thread
/// that writes.
void block_broken_pipe() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

struct TlsRelay::State {
  State(TlsFiles the_files, const TlsLimits& the_limits)
      : files(std::move(the_files)),
        limits(the_limits),
        loaded(load_tls(files)),
        warning(loaded.warning) {
    thread = std::thread([this] {
      block_broken_pipe();
      beat_later();
      context.run();
    });
  }
  ~State() {
    asio::post(context, [this] {
      stops_at_us = steady_now_us() + stop_us;
      stop_if_done();
    });
    thread.join();
  }

  void add(TlsConnection::Client client, TlsConnection::Server server);
  bool make_room();
  void beat_later();
  void stop_if_done() {
    if (stops_at_us == 0) return;
    if (connections.empty() || steady_now_us() >= stops_at_us) context.stop();
  }
  std::shared_ptr<ssl_ctx_st> tls() {
    const std::lock_guard lock(mutex);
    return loaded.context;
  }

  TlsFiles files;
  TlsLimits limits;
  TlsCounts counts;
  std::mutex mutex;  ///< guards `loaded` after the start
  LoadedTls loaded;
  const std::string warning;
  asio::io_context context{1};
  asio::steady_timer timer{context};
  std::unordered_map<TlsConnection*, std::shared_ptr<TlsConnection>> connections;
  std::int64_t stops_at_us = 0;  ///< a time of the steady clock; 0: the relay does not stop
  std::thread thread;
};

void TlsRelay::State::add(TlsConnection::Client client, TlsConnection::Server server) {
  if (stops_at_us != 0 || !make_room()) return;  // destroys the sockets
  const auto connection = std::make_shared<TlsConnection>(
      tls(), std::move(client), std::move(server), limits, counts, [this](TlsConnection* ended) {
        connections.erase(ended);
        stop_if_done();
      });
  connections.emplace(connection.get(), connection);
  connection->start();
}

/// Returns whether a further connection may be served. At the limit, cuts a leftover connection.
bool TlsRelay::State::make_room() {
  if (connections.size() < limits.connections_max) return true;
  ++counts.refused;
  const auto leftover = std::ranges::find_if(
      connections, [](const auto& each) { return each.second->is_leftover(); });
  if (leftover == connections.end()) return false;
  const auto cut = leftover->second;
  cut->close();
  return true;
}

void TlsRelay::State::beat_later() {
  timer.expires_after(beat_period);
  timer.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    const std::int64_t now_us = steady_now_us();
    const auto open = connections;  // a copy: an ended connection erases itself
    for (const auto& [key, connection] : open) connection->beat(now_us);
    stop_if_done();
    beat_later();
  });
}

TlsRelay::TlsRelay(TlsFiles files, const TlsLimits& limits)
    : state_(std::make_unique<State>(std::move(files), limits)) {}

TlsRelay::~TlsRelay() = default;

std::optional<Tcp::socket> TlsRelay::secured(Tcp::socket accepted) {
  boost::system::error_code error;
  const auto protocol = accepted.local_endpoint(error).protocol();
  int ends[2];
  if (error || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return std::nullopt;
  Tcp::socket inner(accepted.get_executor());
  auto outer = std::make_shared<TlsConnection::Client>(state_->context);
  auto far = std::make_shared<TlsConnection::Server>(state_->context);
  far->assign(asio::local::stream_protocol(), ends[0], error);
  if (error) close(ends[0]);
  // `inner` is a local socket with the protocol of TCP. Asio only stores the protocol, and the
  // users of `inner` only read, write and close it.
  boost::system::error_code inner_error;
  inner.assign(protocol, ends[1], inner_error);
  if (inner_error) close(ends[1]);
  if (error || inner_error) return std::nullopt;
  const int handle = accepted.release(error);
  if (error) return std::nullopt;
  outer->assign(protocol, handle, error);
  if (error) {
    close(handle);
    return std::nullopt;
  }
  asio::post(state_->context, [state = state_.get(), outer, far] {
    state->add(std::move(*outer), std::move(*far));
  });
  return inner;
}

std::string TlsRelay::reload() {
  LoadedTls fresh = load_tls(state_->files);
  const std::lock_guard lock(state_->mutex);
  state_->loaded = std::move(fresh);
  return state_->loaded.warning;
}

const std::string& TlsRelay::warning() const {
  return state_->warning;
}

const TlsCounts& TlsRelay::counts() const {
  return state_->counts;
}

}  // namespace starling::stream
