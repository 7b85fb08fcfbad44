// SPDX-License-Identifier: Apache-2.0
// Runs the server, the clients and the subscribers of one simulation: see simulation.hpp.
#include "tests/server_simulation/simulation.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "starling/cpu/backend.hpp"
#include "starling/log/reader.hpp"
#include "starling/stream/journal/record_codec.hpp"
#include "starling/stream/recovery/log_run.hpp"
#include "tests/server_simulation/history.hpp"
#include "tests/server_simulation/model.hpp"
#include "tests/server_simulation/principals/promptness.hpp"
#include "tests/server_simulation/principals/simulated_asker.hpp"
#include "tests/server_simulation/principals/simulated_flood.hpp"
#include "tests/server_simulation/principals/simulated_principals.hpp"
#include "tests/server_simulation/simulated_client.hpp"
#include "tests/server_simulation/simulated_server.hpp"
#include "tests/server_simulation/simulated_subscriber.hpp"

namespace starling::simulation {
namespace {

constexpr std::int64_t second_us = 1'000'000;
/// How long all answers may take once the faults have ended.
constexpr std::int64_t calm_us = 60 * second_us;
constexpr int calm_ticks = 3;
/// How many requests a greedy principal sends for each request of the clients.
constexpr std::uint64_t flood_factor = 5;

class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options)
      : options_(options),
        world_(options),
        has_manual_ticks_(world_.random().chance(0.6)),
        principals_(world_, options_.clients, options_.has_others),
        network_(world_),
        promptness_(world_, history_),
        server_options_(server_options()),
        server_(world_, network_, history_, promptness_, principals_, server_options_,
                options_.disk_fault),
        model_(history_, oracle_options(), server_options_.processor.space, principals_.clients()) {
    network_.watch([this](const SentMessage& sent) { history_.published(sent); });
    server_.watch_put_backs([this](const log::SimulatedFiles::Image& copy) { put_back(copy); });
    promptness_.set_bounds(server_.bounds());
    server_.start();
    server_.live();
    for (std::uint64_t i = 0; i < options_.clients; ++i)
      clients_.push_back(std::make_unique<SimulatedClient>(
          world_, network_, history_, principals_.clients()[i].origin, i,
          // Tags belong to who sets them first, which the model does not follow.
          SimulatedRequests(world_, {.has_manual_ticks = has_manual_ticks_,
                                     .may_tick = i == 0,
                                     .may_tag = principals_.clients()[i].is_admin(),
                                     .components = components()}),
          has_past(),
          options_.requests / options_.clients + (i < options_.requests % options_.clients)));
    for (std::uint64_t i = 0; i < followed_streams; ++i)
      subscribers_.push_back(std::make_unique<SimulatedSubscriber>(
          world_, network_, history_, principals_.subscriber().origin, stream_name(i)));
    for (const SimulatedPrincipal& each : principals_.honest())
      askers_.push_back(std::make_unique<SimulatedAsker>(world_, network_, promptness_, each.origin,
                                                         components()));
    for (const SimulatedPrincipal& each : principals_.greedy())
      floods_.push_back(std::make_unique<SimulatedFlood>(world_, network_, each.origin,
                                                         components(), 1 + world_.random().below(4),
                                                         options_.requests * flood_factor));
  }

  SimulationResult run() {
    run_until([this] { return are_done(); }, 600 * second_us, "clients with faults");
    world_.calm_down();
    run_until([this] { return are_done(); }, calm_us, "clients without faults");
    // A fault of the options may come this late, and then three more ticks are needed.
    for (int i = 0; i < calm_ticks || (i < 3 * calm_ticks && !(are_done() && are_live())); ++i) {
      if (has_manual_ticks_) clients_.front()->tick();
      run_for(400'000);
    }
    run_until([this] { return are_done(); }, calm_us, "the last ticks");
    for (std::size_t i = 0; i < clients_.size(); ++i)
      if (history_.owes(i)) clients_[i]->greet();
    run_until([this] { return are_done(); }, calm_us, "the last hellos");
    // A copy may lack the streams, and their clients may have nothing left to send.
    if (!are_live() && history_.put_backs() == 0)
      history_.violated("after calm ticks a subscriber is not live");
    check();
    return result();
  }

 private:
  stream::ServerOptions server_options() {
    test::Random& random = world_.random();
    stream::ServerOptions made;
    stream::set_small_tables(made);
    if (random.chance(0.3)) made.processor.space.space = Space::planar3;
    made.processor.objects.object_ttl_us =
        random.chance(0.5) ? 300'000 : ObjectTableOptions::never_us;
    made.processor.objects.tombstone_ttl_us = 200'000;
    made.tick_period_us.reset();
    if (!has_manual_ticks_) made.tick_period_us = random.between(10'000, 100'000);
    made.future_max_us = std::int64_t{1} << 50;
    made.tau_step_max_us = 0;
    made.clock_step_wait_us = 200'000;
    made.journal.durability =
        random.chance(0.5) ? stream::Durability::tick : stream::Durability::sync;
    made.journal.segment_bytes = 4096;
    if (options_.seed % 2 == 0) made.journal.begin_bytes = 300;
    made.journal.retry_us = 50'000;
    const bool has_snapshots = random.chance(0.5);
    if (has_snapshots && options_.has_snapshots) {
      made.journal.tail_bytes_max = 2000;
      made.journal.make_engine = [](const SpaceOptions& space) {
        return cpu::make_engine({.space = space, .threads = 1});
      };
    }
    return made;
  }

  std::size_t components() const {
    return server_options_.processor.space.space == Space::planar3 ? 3 : 2;
  }
  /// Whether the server answers questions about the past.
  bool has_past() const { return server_options_.journal.make_engine != nullptr; }

  /// Checks the log that the copy replaces, and notes in the history what the copy has.
  void put_back(const log::SimulatedFiles::Image& image) {
    log::SimulatedFiles replaced = server_.files().with_removed_segments();
    Model(history_, oracle_options(), server_options_.processor.space, principals_.clients())
        .check(replaced);
    log::SimulatedFiles put_back;
    put_back.put_back(image, false);
    log::SimulatedFiles all = put_back.with_removed_segments();
    CopiedLog copy;
    const auto key_of = [&](std::uint64_t session, std::uint64_t sequence) {
      return RequestKey{history_.clients().at(session), sequence};
    };
    const log::LogSummary read = log::read_log(all, [&](const log::Group& group) {
      for (const log::Record& record : group.records) {
        const stream::JournalRecord decoded = stream::decode(record);
        if (const auto* request = std::get_if<stream::RequestRecord>(&decoded))
          copy.answered.insert(key_of(request->session, request->sequence));
        if (const auto* begun = std::get_if<stream::TickBegunRecord>(&decoded)) {
          copy.last_tick = begun->tick;
          if (begun->session != 0) copy.begun.insert(key_of(begun->session, begun->sequence));
        }
      }
    });
    copy.next_sequence = read.end->position.next_sequence;
    history_.put_back(copy);
  }

  test::OracleOptions oracle_options() const {
    return {.object_ttl_us = server_options_.processor.objects.object_ttl_us,
            .tombstone_ttl_us = server_options_.processor.objects.tombstone_ttl_us};
  }

  bool are_done() const {
    return std::ranges::all_of(clients_, [](const auto& each) { return each->is_done(); });
  }
  bool are_live() const {
    return std::ranges::all_of(subscribers_,
                               [](const auto& each) { return each->state().is_live(); });
  }

  void step() {
    world_.step();
    server_.look_at_commits();
  }
  void run_for(std::int64_t duration_us) {
    const std::int64_t until_us = world_.now_us() + duration_us;
    while (world_.now_us() < until_us) step();
  }
  template <class Done>
  void run_until(const Done& done, std::int64_t duration_us, const std::string& what) {
    const std::int64_t until_us = world_.now_us() + duration_us;
    while (!done() && history_.violations().empty()) {
      if (world_.now_us() >= until_us) {
        history_.violated(what + " have no end after " + std::to_string(duration_us / second_us) +
                          " s");
        return;
      }
      step();
    }
  }

  void check() {
    for (std::size_t i = 0; i < clients_.size(); ++i)
      if (history_.owes(i))
        history_.violated("client " + std::to_string(i) + " was not told what the log lacks");
    for (const auto& subscriber : subscribers_)
      if (history_.put_backs() == 0 && subscriber->state().counters().restarts > 0)
        history_.violated("a subscriber was told of another history, and there is only one");
    if (!history_.violations().empty()) return;
    log::SimulatedFiles all = server_.files().with_removed_segments();
    model_.check(all);
    stream::LogRun again(all, {.make_engine = [](const SpaceOptions& space) {
                           return cpu::make_engine({.space = space, .threads = 1});
                         }});
    const stream::LogRunCounts counts = again.run({}, [](const auto&) { return true; });
    if (counts.different > 0)
      history_.violated("a replay of the log gives other bytes at tick " +
                        std::to_string(to_number(*counts.first_different)));
    else if (counts.equal != model_.published())
      history_.violated("a replay of the log compares " + std::to_string(counts.equal) +
                        " ticks, and the log has " + std::to_string(model_.published()) +
                        " hashes");
  }

  SimulationResult result() const {
    SimulationResult made{
        .violations = history_.violations(),
        .trace = world_.trace(),
        .events = world_.events(),
        .ticks = model_.ticks(),
        .failed_ticks = model_.failed_ticks(),
        .messages = history_.messages().size(),
        .answers = history_.answers().size(),
        .past_answers = static_cast<std::uint64_t>(std::ranges::count_if(
            history_.answers(), [](const auto& each) { return each.at_us.has_value(); })),
        .starts = server_.starts(),
        .crashes = server_.crashes(),
        .snapshots = server_.snapshots(),
        .put_backs = history_.put_backs(),
        .timely = promptness_.requests(),
        .longest_request_us = promptness_.longest_request_us(),
        .longest_timer_us = promptness_.longest_timer_us(),
        .disk_has_failed = server_.disk_has_failed(),
        .memory_has_failed = world_.allocation_fault().has_failed(),
        .virtual_s = static_cast<double>(world_.now_us()) / 1e6};
    for (const auto& client : clients_) made.acknowledged += client->acknowledged();
    return made;
  }

  SimulationOptions options_;
  VirtualWorld world_;
  bool has_manual_ticks_;
  History history_;
  SimulatedPrincipals principals_;
  SimulatedNetwork network_;
  Promptness promptness_;
  stream::ServerOptions server_options_;
  SimulatedServer server_;
  Model model_;
  std::vector<std::unique_ptr<SimulatedClient>> clients_;
  std::vector<std::unique_ptr<SimulatedSubscriber>> subscribers_;
  std::vector<std::unique_ptr<SimulatedAsker>> askers_;
  std::vector<std::unique_ptr<SimulatedFlood>> floods_;
};

bool fails(const SimulationOptions& options) {
  return !simulate(options).violations.empty();
}

}  // namespace

void SimulationResult::add(const SimulationResult& other) {
  trace ^= other.trace;
  events += other.events;
  acknowledged += other.acknowledged;
  ticks += other.ticks;
  failed_ticks += other.failed_ticks;
  messages += other.messages;
  answers += other.answers;
  past_answers += other.past_answers;
  starts += other.starts;
  crashes += other.crashes;
  snapshots += other.snapshots;
  put_backs += other.put_backs;
  timely += other.timely;
  longest_request_us = std::max(longest_request_us, other.longest_request_us);
  longest_timer_us = std::max(longest_timer_us, other.longest_timer_us);
  virtual_s += other.virtual_s;
}

SimulationResult simulate(const SimulationOptions& options) {
  return Simulation(options).run();
}

SimulationOptions shrink(SimulationOptions options) {
  const auto keep_if_fails = [&](const SimulationOptions& smaller) {
    const bool still = fails(smaller);
    if (still) options = smaller;
    return still;
  };
  for (std::size_t i = 0; i < fault_names.size(); ++i) {
    SimulationOptions smaller = options;
    if (smaller.without.insert(static_cast<Fault>(i)).second) keep_if_fails(smaller);
  }
  SimulationOptions smaller = options;
  smaller.has_snapshots = false;
  keep_if_fails(smaller);
  smaller = options;
  smaller.has_others = false;
  keep_if_fails(smaller);
  for (; options.clients > 1;) {
    smaller = options;
    --smaller.clients;
    if (!keep_if_fails(smaller)) break;
  }
  for (std::uint64_t step = options.requests / 2; step > 0; step /= 2) {
    for (; options.requests > step;) {
      smaller = options;
      smaller.requests -= step;
      if (!keep_if_fails(smaller)) break;
    }
  }
  return options;
}

std::string command_of(const SimulationOptions& options) {
  const SimulationOptions defaults;
  std::string command = "simulate-server " + std::to_string(options.seed);
  for (const Fault fault : options.without)
    command += " --without " + std::string(fault_names[static_cast<std::size_t>(fault)]);
  if (options.disk_fault)
    command += " --disk-fault " +
               std::string(disk_fault_names[static_cast<std::size_t>(options.disk_fault->kind)]) +
               ":" + std::to_string(options.disk_fault->call);
  if (options.failing_allocation > 0)
    command += " --failing-allocation " + std::to_string(options.failing_allocation);
  if (!options.has_others) command += " --no-others";
  if (!options.has_snapshots) command += " --no-snapshots";
  if (options.clients != defaults.clients)
    command += " --clients " + std::to_string(options.clients);
  if (options.requests != defaults.requests)
    command += " --requests " + std::to_string(options.requests);
  return command;
}

}  // namespace starling::simulation
