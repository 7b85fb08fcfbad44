// SPDX-License-Identifier: Apache-2.0
// A server that lives through crashes and restarts: a ServerCore on a simulated executor, network,
// engine and disk. It has no sockets, no HTTP and no signals.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "starling/stream/server_core.hpp"
#include "tests/server_simulation/history.hpp"
#include "tests/server_simulation/principals/promptness.hpp"
#include "tests/server_simulation/principals/simulated_principals.hpp"
#include "tests/server_simulation/simulated_door.hpp"
#include "tests/server_simulation/simulated_executor.hpp"
#include "tests/server_simulation/simulated_network.hpp"
#include "tests/stream/journal/cut_disk.hpp"

namespace starling::simulation {

class SimulatedServer {
 public:
  SimulatedServer(VirtualWorld& world, SimulatedNetwork& network, History& history,
                  Promptness& promptness, const SimulatedPrincipals& principals,
                  const stream::ServerOptions& options,
                  const std::optional<DiskFault>& disk_fault = {});
  ~SimulatedServer() { destroy(); }

  void start();
  /// Returns the bounds within which this server must be prompt.
  Promptness::Bounds bounds() const;
  bool is_running() const { return core_ != nullptr; }
  /// Makes the commits that are due. Call it after each event.
  void look_at_commits();
  /// Draws the server's next fault, again and again.
  void live();
  log::SimulatedFiles& files() { return disk_.files; }
  std::uint64_t starts() const { return starts_; }
  std::uint64_t crashes() const { return crashes_; }
  /// Returns whether the disk fault of the options has happened.
  bool disk_has_failed() const;
  std::uint64_t snapshots() const { return snapshots_; }
  /// Calls `handler` before a copy of the log is put back, with the copy.
  using PutBackHandler = std::function<void(const log::SimulatedFiles::Image& copy)>;
  void watch_put_backs(PutBackHandler handler) { put_back_handler_ = std::move(handler); }

 private:
  /// The cost of a turn: how long each reading of the clock, a request, and each of its bytes take.
  struct Costs {
    std::int64_t clock_us = 0;  ///< at most
    std::int64_t request_us = 0;
    std::int64_t byte_ns = 0;
  };

  Costs draw_costs();
  void expire_later();
  void arm_disk_fault();
  bool has_disk_fault() const;
  void misbehave();
  void stop();
  /// Loses power. Starts again after a while.
  void crash();
  void fail(const std::exception_ptr& error);
  void end_then_start(bool has_crashed);
  void put_back();
  void destroy();
  void take(const stream::Peer& peer, const Bytes& bytes, stream::ReceivedRoom room);
  void check_budgets();

  VirtualWorld& world_;
  SimulatedNetwork& network_;
  History& history_;
  Promptness& promptness_;
  const SimulatedPrincipals& principals_;
  stream::ServerOptions options_;
  stream::CutDisk disk_;
  const Costs costs_;
  std::size_t receive_bytes_max_ = 0;
  std::uint64_t starts_ = 0;
  std::uint64_t crashes_ = 0;
  std::uint64_t snapshots_ = 0;
  bool is_ending_ = false;
  std::optional<log::SimulatedFiles::Image> copy_;
  PutBackHandler put_back_handler_ = [](const auto&) {};
  std::optional<DiskFault> disk_fault_;
  bool is_first_life_ = true;  ///< the disk fault acts in the first life only

  // The server has these members between a start and a crash or a stop.
  stream::ServerOptions completed_;
  std::unique_ptr<SimulatedExecutor> executor_;
  std::unique_ptr<SimulatedDoor> door_;
  std::shared_ptr<bool> is_recovering_;
  std::unique_ptr<stream::Metrics> metrics_;
  std::unique_ptr<stream::Access> access_;
  std::unique_ptr<stream::ServerCore> core_;
  std::unique_ptr<stream::Timer> expiry_;
  log::GroupCommit* commits_ = nullptr;
  std::optional<std::int64_t> commit_due_us_;  ///< time of the commit that is planned
  /// Number of the planned commit's event; earlier ones do nothing.
  std::uint64_t commit_number_ = 0;
};

}  // namespace starling::simulation
