// SPDX-License-Identifier: Apache-2.0
// A server of this process on ports that the system chose, with the helpers its tests share.
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

/// How long anything may take before its test fails; never waited for in full when all is well.
inline constexpr std::chrono::seconds patience{30};

/// Ticks on request, every port the system's choice.
ServerOptions manual_options();

std::unique_ptr<Engine> make_engine(const SpaceOptions& space = {});

class RunningServer {
 public:
  explicit RunningServer(const ServerOptions& options = manual_options());
  RunningServer(const ServerOptions& options, std::unique_ptr<Engine> engine);
  ~RunningServer();

  const Endpoints& endpoints() const { return server_->endpoints(); }

  /// Waits until the server has returned from run() and is gone with its sockets.
  void stop();

  protocol::Client client() const;
  protocol::SubscriberOptions subscriber_options(std::string stream) const;
  /// The value of a counter or gauge as GetStats says it.
  double stat(std::string_view name);

  zmq::context_t& context() const { return *context_; }

 private:
  std::unique_ptr<zmq::context_t> context_ = std::make_unique<zmq::context_t>();
  std::unique_ptr<Server> server_;
  std::thread thread_;
  std::optional<protocol::Client> stats_client_;  ///< one session, however often asked
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

/// Calls `step` until it returns true; false when patience is over.
bool happens(const std::function<bool()>& step);

/// One GET over a socket of its own; the whole answer, or what was sent before the server closed.
std::string http_exchange(const std::string& endpoint, std::string_view request);
std::string http_get(const std::string& endpoint, std::string_view target);

}  // namespace starling::stream
