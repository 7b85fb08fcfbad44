// SPDX-License-Identifier: Apache-2.0
// Runs `starling serve` with one honest producer and subscriber beside an idle loop, and then
// beside many hostile clients that together have the same share of a core. Prints one table. The
// exit status is 0 if the honest clients lost nothing, their replies were not much slower, the
// server's memory stayed flat, and the server ended when it was told to.
//   hostile_soak --seconds 600 --clients 64 --seed 1 --slower-max 2 --with-keys
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <vector>

#include <CLI/CLI.hpp>

#include "tests/stream/access/keys_folder.hpp"
#include "tests/stream/soak/duty_cycle.hpp"
#include "tests/stream/soak/hostile_mix.hpp"
#include "tests/stream/support/program.hpp"
#include "tests/stream/support/witness.hpp"

namespace starling::stream {
namespace {

using Clock = std::chrono::steady_clock;

struct SoakOptions {
  bool with_keys = false;
  double seconds = 20;
  double slower_max = 2;
  double reply_ms = 5;
  std::uint64_t memory_mib_max = 256;
  HostileOptions hostile;
};

SoakOptions soak;

/// The times of the honest client's replies, in milliseconds.
struct Latencies {
  std::vector<double> update_ms{};
  std::vector<double> question_ms{};
  /// Time between moves and the lists of the second tick after them.
  std::vector<double> delivery_ms{};

  static double at(std::vector<double> times, double part) {
    if (times.empty()) return 0;
    std::ranges::sort(times);
    return times[std::min(times.size() - 1,
                          static_cast<std::size_t>(part * static_cast<double>(times.size())))];
  }
};

/// The keys file: an honest principal, and a hostile one with a quota.
struct SoakKeys {
  KeysFolder folder;
  protocol::KeyPair honest = with_server(protocol::new_key_pair("honest"));
  protocol::KeyPair hostile = with_server(protocol::new_key_pair("hostile"));
  zmq::context_t context;

  SoakKeys() {
    context.set(zmq::ctxopt::thread_name_prefix, 7);
    folder.write(
        principal_text("honest", honest.public_key,
                       "roles = ['publish', 'query', 'subscribe', 'stats']") +
        principal_text("hostile", hostile.public_key,
                       "token_sha256 = '" + sha256_text(token) +
                           "'\nroles = ['publish', 'query', 'subscribe', 'tick', 'stats']\n"
                           "objects = ['1000000-9999999']\n"
                           "[principal.quota]\nsessions = 40\nqueries = 2000\nneighbors = 20000\n"
                           "streams = 20\nnames = 100\nsnapshot_bytes = 16777216\n"
                           "reply_bytes = 16777216\nrows_per_second = 50000\n"
                           "loop_ms_per_second = 50\n"));
  }

  HostilePrincipal hostile_principal() {
    return {{protocol::to_z85(*hostile.server_key), protocol::to_z85(hostile.public_key),
             protocol::to_z85(hostile.secret_key)},
            token,
            &context,
            "7/ZMQ"};
  }

 private:
  static constexpr const char* token = "token-of-hostile";

  protocol::KeyPair with_server(protocol::KeyPair key) const {
    key.server_key = folder.server.public_key;
    return key;
  }
};

double ms_of(const std::function<void()>& action) {
  const auto since = Clock::now();
  action();
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

class HostileSoak : public ProgramTest {
 protected:
  /// Moves the witness's objects and asks questions, again and again. Checks every list.
  Latencies be_honest(Witness& witness, protocol::Client& prober, double seconds,
                      const Program& program) {
    Latencies latencies;
    const auto until = Clock::now() + std::chrono::duration<double>(seconds);
    Fixes own;
    for (std::uint64_t id = 0; id < 100; ++id)
      own.add(500'000 + id, wall_now_us(), 5e6 + static_cast<double>(id), 5e6);
    while (Clock::now() < until && !HasFailure()) {
      for (int count = 0; count < 20; ++count) {
        for (std::int64_t& time_us : own.times_us) ++time_us;
        latencies.update_ms.push_back(ms_of([&] {
          const auto reply = prober.update(own.batch()).value();
          EXPECT_EQ(reply.accepted, own.ids.size()) << "an update was lost";
        }));
        latencies.question_ms.push_back(ms_of([&] {
          const auto answers = prober.get_neighbors({{nearest_to(0, 10, 5e6, 5e6)}}).value();
          if (latencies.question_ms.size() > 100) {
            EXPECT_EQ(answers.lists[0].neighbors.size(), 10u);
          }
        }));
        witness.subscriber().poll(0);
      }
      latencies.delivery_ms.push_back(ms_of([&] { witness.move_and_expect_exact(random); }));
      memory_max = std::max(memory_max, program.resident_bytes());
    }
    return latencies;
  }

  test::Random random{soak.hostile.seed};
  std::size_t memory_max = 0;
};

void print(const char* name, const std::vector<double>& idle, const std::vector<double>& hostile) {
  std::printf("%-12s %9zu %9.2f %9.2f %9zu %9.2f %9.2f %9.2f\n", name, idle.size(),
              Latencies::at(idle, 0.5), Latencies::at(idle, 0.99), hostile.size(),
              Latencies::at(hostile, 0.5), Latencies::at(hostile, 0.99), Latencies::at(hostile, 1));
}

TEST_F(HostileSoak, TheHonestLoseNothing) {
  std::vector<std::string> arguments{"--tick",        "50ms",  "--objects-max", "200000",
                                     "--queries-max", "50000", "--log-level",   "error"};
  std::optional<SoakKeys> keys;
  if (soak.with_keys) {
    keys.emplace();
    arguments.insert(arguments.end(), {"--keys", keys->folder.path()});
    soak.hostile.principal = keys->hostile_principal();
  }
  Program program(serve(arguments));
  ASSERT_TRUE(happens([&] { return access(endpoints_path.c_str(), R_OK) == 0; }));
  soak.hostile.endpoints = {endpoint("commands"), endpoint("results"), endpoint("http")};
  soak.hostile.stream = "witness";
  const auto key = keys ? std::optional(keys->honest) : std::nullopt;
  Witness witness(context, soak.hostile.endpoints, Witness::Ticks::by_the_clock, key);
  protocol::Client prober(context, {.commands = soak.hostile.endpoints.commands, .key = key});
  witness.move_and_expect_exact(random);

  const double idle_s = std::max(soak.seconds / 4, 3.0);
  Latencies idle;
  {
    const IdleLoop loop(soak.hostile.cores);
    idle = be_honest(witness, prober, idle_s, program);
  }
  const std::size_t memory_before = program.resident_bytes();
  memory_max = memory_before;
  HostileMix mix(soak.hostile);
  const Latencies hostile = be_honest(witness, prober, soak.seconds, program);
  mix.stop();
  witness.move_and_expect_exact(random);

  std::printf("%u clients with %.2g cores for %.0f s, seed %llu\n\n", soak.hostile.clients,
              soak.hostile.cores, soak.seconds, static_cast<unsigned long long>(soak.hostile.seed));
  std::printf("%-12s %9s %9s %9s %9s %9s %9s %9s\n", "", "idle", "p50 ms", "p99 ms", "hostile",
              "p50 ms", "p99 ms", "max ms");
  print("update", idle.update_ms, hostile.update_ms);
  print("question", idle.question_ms, hostile.question_ms);
  print("delivery", idle.delivery_ms, hostile.delivery_ms);
  std::printf("\n%-24s %9s\n", "attack", "ended");
  for (const auto& [name, count] : mix.counts())
    std::printf("%-24s %9llu\n", name.c_str(), static_cast<unsigned long long>(count));
  double refused = 0;
  for (const auto& [name, value] : prober.get_stats().value()) {
    if (name.starts_with("starling_refused_requests_total")) refused += value;
    if (value > 0 &&
        (name.starts_with("starling_refused_requests_total") ||
         name.starts_with("starling_rows_total") || name.starts_with("starling_loop_turn")))
      std::printf("%-64s %12.6g\n", name.c_str(), value);
  }
  EXPECT_GT(refused, 0) << "the attacks reached nothing";
  const auto& counters = witness.subscriber().state().counters();
  std::printf("\nticks lost %llu; server's memory %zu MiB before, at most %zu MiB\n",
              static_cast<unsigned long long>(counters.ticks_lost), memory_before >> 20,
              memory_max >> 20);

  EXPECT_EQ(counters.ticks_lost, 0u);
  EXPECT_LE(memory_max, memory_before + (soak.memory_mib_max << 20) + sanitizer_bytes);
  for (const auto& [beside_idle, beside_hostile] :
       {std::pair(idle.update_ms, hostile.update_ms),
        std::pair(idle.question_ms, hostile.question_ms),
        std::pair(idle.delivery_ms, hostile.delivery_ms)})
    EXPECT_LE(Latencies::at(beside_hostile, 0.99),
              std::max(soak.slower_max * Latencies::at(beside_idle, 0.99), soak.reply_ms));
  program.send_signal(SIGTERM);
  EXPECT_EQ(program.exit_status(), 0) << program.said();
}

}  // namespace
}  // namespace starling::stream

int main(int count, char** arguments) {
  using starling::stream::soak;
  testing::InitGoogleTest(&count, arguments);
  CLI::App app("Attacks a server beside honest clients.");
  app.add_option("--seconds", soak.seconds, "How long the hostile clients attack")
      ->capture_default_str();
  app.add_option("--clients", soak.hostile.clients)->capture_default_str();
  app.add_option("--seed", soak.hostile.seed)->capture_default_str();
  app.add_option("--cores", soak.hostile.cores)->capture_default_str();
  app.add_option("--slower-max", soak.slower_max,
                 "The 99th percentile of the honest clients' replies, at most, as a multiple of "
                 "that beside an idle loop")
      ->capture_default_str();
  app.add_option(
         "--reply-ms", soak.reply_ms,
         "A 99th percentile up to this many milliseconds is no fault in any case: no request "
         "may hold the loop for longer")
      ->capture_default_str();
  app.add_option("--memory-mib-max", soak.memory_mib_max, "What the server's memory may grow by")
      ->capture_default_str();
  app.add_flag(
      "--with-keys", soak.with_keys,
      "The server has keys, and some hostile clients are of a principal with a quota. They "
      "open sessions and ask for as much as they are allowed");
  CLI11_PARSE(app, count, arguments);
  return RUN_ALL_TESTS();
}
