// SPDX-License-Identifier: Apache-2.0
// RunningServer runs a server in the test's own process, on ports that the system chooses. Below it
// are helpers for tests of servers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <zmq.hpp>

#include "starling/knn/words/types.hpp"
#include "starling/protocol/client/client.hpp"
#include "starling/protocol/client/subscriber.hpp"
#include "starling/stream/server.hpp"

namespace starling::stream {

/// How long a test waits for anything before it fails. A test that passes does not wait this long.
inline constexpr std::chrono::seconds patience{30};

/// Returns options with manual ticks and with ports that the system chooses.
ServerOptions manual_options();

std::unique_ptr<Engine> make_engine(const SpaceOptions& space = {});

class RunningServer {
 public:
  explicit RunningServer(const ServerOptions& options = manual_options());
  RunningServer(const ServerOptions& options, std::unique_ptr<Engine> engine);
  ~RunningServer();

  const Endpoints& endpoints() const { return server_->endpoints(); }

  /// Stops the server, waits until Server::run() has returned, and destroys the server and its
  /// sockets.
  void stop();
  /// Makes the server read its keys again, as SIGHUP does.
  void reload_keys() { server_->reload_keys(); }

  protocol::Client client() const;
  protocol::SubscriberOptions subscriber_options(std::string stream) const;
  /// Returns the value that GetStats gives for a counter or gauge.
  double stat(std::string_view name);

  zmq::context_t& context() const { return *context_; }

 private:
  std::unique_ptr<zmq::context_t> context_ = std::make_unique<zmq::context_t>();
  std::unique_ptr<Server> server_;
  std::thread thread_;
  std::optional<protocol::Client> stats_client_;  ///< one session for all calls of stat()
};

/// An UpdateBatch that owns its arrays.
struct Fixes {
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> times_us;
  std::vector<double> coordinates;

  void add(std::uint64_t id, std::int64_t time_us, double x, double y);
  protocol::UpdateBatch batch() const;
};

protocol::QuerySpec nearest_to(std::uint64_t id, std::uint32_t k, double x, double y);

/// Calls `step` again and again until it returns true. Returns false if `patience` ends first.
bool happens(const std::function<bool()>& step);

/// Sends `request` over a new connection. Returns everything that the server sends until it closes
/// the connection or `patience` ends.
std::string http_exchange(const std::string& endpoint, std::string_view request);
std::string http_get(const std::string& endpoint, std::string_view target);

}  // namespace starling::stream
