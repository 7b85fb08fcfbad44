// SPDX-License-Identifier: Apache-2.0
// Starts, stops and crashes a ServerCore, and draws its faults: see simulated_server.hpp.
#include "tests/server_simulation/simulated_server.hpp"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include "starling/cpu/backend.hpp"
#include "tests/server_simulation/simulated_engine.hpp"
#include "tests/server_simulation/spared_files.hpp"
#include "tests/support/failing_new.hpp"

namespace starling::simulation {

using stream::Peer;

SimulatedServer::SimulatedServer(VirtualWorld& world, SimulatedNetwork& network, History& history,
                                 Promptness& promptness, const SimulatedPrincipals& principals,
                                 const stream::ServerOptions& options,
                                 const std::optional<DiskFault>& disk_fault)
    : world_(world),
      network_(network),
      history_(history),
      promptness_(promptness),
      principals_(principals),
      options_(options),
      disk_(world.random().next()),
      costs_(draw_costs()),
      receive_bytes_max_(std::size_t{1} << (15 + world.random().below(10))),
      disk_fault_(disk_fault) {
  disk_.files.keep_removed();
  options_.keys_path = principals.keys_path();
  options_.journal.folder = "simulated";
  options_.journal.open = [this](const std::string&, log::FolderUse) {
    return std::make_unique<SparedFiles>(disk_.open());
  };
  options_.journal.run_commits = [this](log::GroupCommit& commits) { commits_ = &commits; };
  options_.random = [this] { return world_.random().next(); };
  options_.boot_now_us = [this] { return world_.now_us(); };
  options_.wall_now_us = [this] { return world_.wall_us(); };
  // The server must not see the memory of the machine that runs the simulation.
  options_.memory_use = [] { return stream::MemoryUse{}; };
  options_.memory_limits = {};
  options_.memory_bytes_max = std::uint64_t{1} << 40;
  if (world_.random().chance(0.3)) options_.decode_requests_max = 3;
}

/// Some machines are so fast that a turn takes no time, and some are slow.
SimulatedServer::Costs SimulatedServer::draw_costs() {
  test::Random& random = world_.random();
  const auto up_to = [&](std::uint64_t most) {
    return 1 + static_cast<std::int64_t>(random.below(most));
  };
  Costs costs;
  if (random.chance(0.3)) costs.clock_us = up_to(400);
  if (random.chance(0.5)) costs.request_us = up_to(300);
  if (random.chance(0.5)) costs.byte_ns = up_to(100);
  return costs;
}

Promptness::Bounds SimulatedServer::bounds() const {
  // From RequestIntake: a turn of the loop ends after this time, and after the request in which it
  // has passed.
  constexpr std::int64_t turn_us_max = 1000;
  constexpr std::int64_t readings_a_request = 40;
  constexpr std::int64_t bytes_a_request = 20'000;
  constexpr std::int64_t job_us_max = 3000;  // SimulatedEngine
  constexpr std::int64_t commit_us_max = 12'000;
  const std::int64_t turn_us = turn_us_max + costs_.request_us +
                               readings_a_request * costs_.clock_us +
                               bytes_a_request * costs_.byte_ns / 1000;
  const auto payers = static_cast<std::int64_t>(principals_.all().size());
  return {.request_us = 2 * payers * (turn_us + job_us_max) + commit_us_max,
          .timer_us = 4 * turn_us};
}

void SimulatedServer::start() {
  ++starts_;
  if (starts_ == 1) arm_disk_fault();
  is_recovering_ = std::make_shared<bool>(true);
  executor_ = std::make_unique<SimulatedExecutor>(
      world_, costs_.clock_us, [this](const std::exception_ptr& error) { fail(error); },
      [this](std::int64_t due_us) { promptness_.timer_ran(due_us); });
  door_ = std::make_unique<SimulatedDoor>(
      *executor_, receive_bytes_max_,
      [this](const Peer& peer, const Bytes& bytes, stream::ReceivedRoom room) {
        take(peer, bytes, std::move(room));
      });
  std::optional<std::uint64_t> failing;
  // A server without a log does not get this fault. The disk may be full later, and then it cannot
  // make a log.
  const bool has_log = !log::segment_names(disk_.files).empty();
  if (has_log && world_.happens(Fault::memory, 0.05)) failing = 1 + world_.random().below(3000);
  AllocationFault::Part counted(world_.allocation_fault(), failing);
  try {
    auto engine = std::make_unique<SimulatedEngine>(
        world_, cpu::make_engine({.space = options_.processor.space, .threads = 1}),
        is_recovering_);
    completed_ = stream::completed(options_, engine->limits());
    metrics_ = std::make_unique<stream::Metrics>(completed_);
    {
      const test::SparedAllocations spared;
      access_ = std::make_unique<stream::Access>(principals_.keys_path(), stream::AuditOptions{});
    }
    auto log = std::make_unique<stream::ServerLog>(*executor_, completed_);
    core_ = std::make_unique<stream::ServerCore>(
        completed_,
        stream::ServerCore::Parts{.executor = *executor_,
                                  .engine = std::move(engine),
                                  .log = std::move(log),
                                  .results = network_,
                                  .metrics = *metrics_,
                                  .access = *access_,
                                  .send =
                                      [this](const Peer& peer, const protocol::Frame& frame) {
                                        promptness_.replied(peer.connection);
                                        network_.reply(peer.connection, frame.bytes());
                                      },
                                  .gauges = [] { return stream::Gauges{}; },
                                  .publishing = [](const auto&, const auto&) {},
                                  .stopped = [this] { end_then_start(false); }});
    core_->recover([] {});
  } catch (const std::exception& error) {
    const bool had_memory = !counted.end();
    // Only a disk fault or a lack of memory may keep the server from starting.
    if (had_memory && !has_disk_fault())
      history_.violated(std::string("the server does not start: ") + error.what());
    return end_then_start(true);
  }
  counted.end();
  *is_recovering_ = false;
  network_.serve([this](std::uint64_t connection, const Origin& origin, const Bytes& bytes) {
    promptness_.arrived(connection);
    door_->receive(connection, origin, bytes);
  });
  core_->start();
  expiry_ = executor_->make_timer();
  expire_later();
}

/// Expires requests once a second, as a Server does.
void SimulatedServer::expire_later() {
  expiry_->wait_until(executor_->now_us() + 1'000'000, [this] {
    core_->requests().expire(executor_->now_us());
    expire_later();
  });
}

void SimulatedServer::arm_disk_fault() {
  if (!disk_fault_) return;
  switch (disk_fault_->kind) {
    case DiskFault::Kind::power:
      return disk_.cut_at(disk_fault_->call);
    case DiskFault::Kind::writing:
      return disk_.files.fail_write(disk_fault_->call);
    case DiskFault::Kind::syncing:
      return disk_.files.fail_sync(disk_fault_->call);
    case DiskFault::Kind::room:
      return disk_.files.fail_create(disk_fault_->call);
  }
}

/// Returns whether the server may end, or not start, because of its disk.
bool SimulatedServer::has_disk_fault() const {
  return !disk_.has_power() || (is_first_life_ && disk_has_failed());
}

bool SimulatedServer::disk_has_failed() const {
  if (!disk_fault_) return false;
  switch (disk_fault_->kind) {
    case DiskFault::Kind::power:
      return crashes_ > 0;
    case DiskFault::Kind::writing:
      return disk_.files.writes() >= disk_fault_->call;
    case DiskFault::Kind::syncing:
      return disk_.files.syncs() >= disk_fault_->call;
    case DiskFault::Kind::room:
      return disk_.files.creates() >= disk_fault_->call;
  }
  return false;
}

/// The time that a request takes passes when its memory is freed, which is the end of its handling.
void SimulatedServer::take(const Peer& peer, const Bytes& bytes, stream::ReceivedRoom room) {
  const std::int64_t cost_us =
      costs_.request_us + static_cast<std::int64_t>(bytes->size()) * costs_.byte_ns / 1000;
  std::shared_ptr<const void> owner;
  {
    const test::SparedAllocations spared;
    owner = {bytes->data(), [this, bytes, cost_us](const void*) { world_.pass(cost_us); }};
  }
  core_->intake().receive(peer, {std::move(owner), *bytes}, std::move(room));
}

void SimulatedServer::check_budgets() {
  if (door_->bytes() > door_->bytes_allowed())
    history_.violated("the requests that wait have " + std::to_string(door_->bytes()) +
                      " bytes, and the budget allows " + std::to_string(door_->bytes_allowed()));
  for (const SimulatedPrincipal& principal : principals_.all()) {
    const auto& quota = principal.quotas.sessions;
    if (!quota || !principals_.has_keys()) continue;
    const std::size_t sessions = core_->requests().sessions().count_of(principal.origin.principal);
    if (sessions > *quota)
      history_.violated(principal.name + " has " + std::to_string(sessions) +
                        " sessions, and its quota is " + std::to_string(*quota));
  }
}

void SimulatedServer::look_at_commits() {
  if (commits_ == nullptr || is_ending_) return;
  const std::int64_t wait_us = commits_->due_in_us();
  if (wait_us < 0) return;
  const std::int64_t due_us = world_.now_us() + wait_us;
  if (commit_due_us_ && *commit_due_us_ <= due_us) return;
  commit_due_us_ = due_us;
  const std::int64_t takes_us = world_.happens(Fault::slow_disk, 0.1)
                                    ? static_cast<std::int64_t>(world_.random().below(200'000))
                                    : static_cast<std::int64_t>(world_.random().below(2000));
  world_.at(due_us + takes_us, [this, starts = starts_, number = ++commit_number_] {
    if (starts != starts_ || number != commit_number_) return;
    commit_due_us_.reset();
    if (commits_ == nullptr || is_ending_) return;
    std::optional<std::uint64_t> failing;
    if (world_.happens(Fault::memory, 0.001)) failing = 1 + world_.random().below(20);
    const AllocationFault::Part counted(world_.allocation_fault(), failing);
    commits_->step();
  });
}

void SimulatedServer::live() {
  world_.after(1000 + static_cast<std::int64_t>(world_.random().below(40'000)), [this] {
    misbehave();
    live();
  });
}

void SimulatedServer::misbehave() {
  if (world_.happens(Fault::clock_steps, 0.03))
    world_.step_wall(world_.random().between(-5'000'000, 5'000'000));
  const bool is_full = world_.happens(Fault::full_disk, 0.05);
  if (is_full || world_.random().chance(0.3))
    disk_.files.set_space(is_full ? world_.random().below(6000) : UINT64_MAX);
  if (world_.is_calm()) disk_.files.set_space(UINT64_MAX);
  if (disk_.files.free_bytes() != UINT64_MAX) world_.disturb();
  if (!is_running() || is_ending_) return;
  check_budgets();
  promptness_.check_waiting();
  if (world_.happens(Fault::put_back, 0.03)) {
    const test::SparedAllocations spared;
    copy_ = disk_.files.image();
  }
  if (world_.happens(Fault::stalls, 0.03))
    executor_->stall(static_cast<std::int64_t>(world_.random().below(200'000)));
  if (world_.happens(Fault::crashes, 0.03)) {
    if (world_.random().chance(0.5)) return crash();
    disk_.cut_at(1 + world_.random().below(40));
  }
  if (world_.happens(Fault::stops, 0.02)) stop();
}

void SimulatedServer::stop() {
  executor_->post([this] {
    if (!core_->is_stopping()) core_->begin_stop();
  });
}

void SimulatedServer::crash() {
  disk_.cut();
  end_then_start(true);
}

void SimulatedServer::fail(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    // A lack of memory ends the server like a crash.
  } catch (const std::exception& caught) {
    const std::string_view what = caught.what();
    const bool is_out_of_memory =
        what.starts_with("memory ran out") || what.find("there is no memory") != what.npos;
    if (is_out_of_memory) return end_then_start(true);
    if (!has_disk_fault())
      history_.violated(std::string("the server ends by itself: ") + caught.what());
  }
  end_then_start(true);
}

/// The caller may be a task of the server, so the server ends in an event of its own.
void SimulatedServer::end_then_start(bool has_crashed) {
  const test::SparedAllocations spared;  // the server's allocations may fail, but the simulation's
                                         // must not
  if (std::exchange(is_ending_, true)) return;
  if (executor_) executor_->end();
  network_.cut_all();
  promptness_.ended();
  world_.disturb();
  world_.after(0, [this, has_crashed] {
    if (has_crashed) {
      disk_.cut();
      ++crashes_;
    } else {
      try {
        core_->end();
      } catch (const std::exception& error) {
        const bool has_room =
            disk_.files.free_bytes() == UINT64_MAX ||
            std::string_view(error.what()).find("No space") == std::string_view::npos;
        if (!has_disk_fault() && has_room)
          history_.violated(std::string("a stop fails: ") + error.what());
        disk_.cut();
      }
    }
    destroy();
    disk_.restore();
    world_.after(static_cast<std::int64_t>(world_.random().below(100'000)), [this] {
      is_ending_ = false;
      if (copy_ && world_.happens(Fault::put_back, 0.4)) put_back();
      // Power may fail again while the server recovers.
      if (world_.happens(Fault::crashes, 0.2)) disk_.cut_at(1 + world_.random().below(12));
      start();
    });
  });
}

/// Puts the copy of the folder back: as new files, or by turning the whole disk back to that time.
void SimulatedServer::put_back() {
  const test::SparedAllocations spared;
  put_back_handler_(*copy_);
  disk_.files.put_back(*copy_, world_.random().chance(0.5));
}

void SimulatedServer::destroy() {
  if (core_ && core_->journal() != nullptr) snapshots_ += core_->journal()->counts().snapshots;
  if (executor_) executor_->end();
  expiry_.reset();
  commits_ = nullptr;
  commit_due_us_.reset();
  is_first_life_ = false;
  core_.reset();
  door_.reset();
  access_.reset();
  metrics_.reset();
  executor_.reset();
}

}  // namespace starling::simulation
