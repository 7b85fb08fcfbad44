// SPDX-License-Identifier: Apache-2.0
// Runs `starling serve` with honest clients, first alone and then beside hostile principals that
// take all the processor time that they get. Prints one table, and what came of each kind of
// attack. The exit status is 0 if the honest clients lost nothing, their requests and ticks were
// not much later, the server kept within its memory, each attack reached it, and it ended when it
// was told to.
//   hostile_soak --seconds 600 --with-keys --cores 0:1
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include <CLI/CLI.hpp>

#include "tests/stream/access/keys_folder.hpp"
#include "tests/stream/soak/honest_clients.hpp"
#include "tests/stream/soak/hostile_mix.hpp"
#include "tests/stream/support/program.hpp"

namespace starling::stream {
namespace {

struct SoakOptions {
  bool with_keys = false;
  double seconds = 20;
  std::string cores = "any";
  unsigned principals = 32;
  unsigned tick_ms = 100;
  double slower_max = 3;
  double question_ms = 10;
  double update_ms = 20;
  double tick_periods_max = 2;
  std::uint64_t memory_mib_max = 400;
  std::uint64_t neighbors_max = 100'000;
  double memory_beyond_max = 0.1;
  HostileOptions hostile{};
};

SoakOptions soak;

/// The keys file: honest principals, and hostile ones with small quotas.
struct SoakKeys {
  KeysFolder folder;
  HonestKeys honest;

  /// Gives each principal its keys and its token.
  explicit SoakKeys(std::vector<HostilePrincipal>& principals) {
    std::string text;
    const auto add_honest = [&](const std::string& name) {
      protocol::KeyPair keys = protocol::new_key_pair(name);
      keys.server_key = folder.server.public_key;
      text += principal_text(name, keys.public_key,
                             "roles = ['publish', 'query', 'subscribe', 'stats']");
      return keys;
    };
    honest = {add_honest("producer"), add_honest("asker"), add_honest("subscriber"),
              add_honest("witness")};
    for (HostilePrincipal& principal : principals) {
      const std::string name = "hostile" + std::to_string(principal.number);
      const protocol::KeyPair keys = protocol::new_key_pair(name);
      principal.keys = {protocol::to_z85(folder.server.public_key),
                        protocol::to_z85(keys.public_key), protocol::to_z85(keys.secret_key)};
      principal.token = "token-of-" + name;
      text += principal_text(
          name, keys.public_key,
          "token_sha256 = '" + sha256_text(principal.token) +
              "'\nroles = ['publish', 'query', 'subscribe', 'tick', 'stats']\n"
              "objects = ['1000000-9999999']\n[principal.quota]\nsessions = 4\nqueries = 1\n"
              "neighbors = 1024\nstreams = 1\nnames = 1\nrows_per_second = 1\n"
              "reply_bytes = 100000\nsnapshot_bytes = 100000\nloop_ms_per_second = 10\n");
    }
    folder.write(text);
  }
};

/// Returns two cores from "0:1", or nothing from "any".
std::optional<std::pair<unsigned, unsigned>> two_cores(const std::string& text) {
  std::pair<unsigned, unsigned> cores;
  if (std::sscanf(text.c_str(), "%u:%u", &cores.first, &cores.second) != 2) return std::nullopt;
  return cores;
}

void print(const char* name, const std::vector<double>& alone, const std::vector<double>& beside) {
  using Times = HonestTimes;
  std::printf("%-10s %8zu %8.2f %8.2f %8.2f %9zu %8.2f %8.2f %8.2f\n", name, alone.size(),
              Times::at(alone, 0.5), Times::at(alone, 0.99), Times::at(alone, 1), beside.size(),
              Times::at(beside, 0.5), Times::at(beside, 0.99), Times::at(beside, 1));
}

void print(const std::map<std::string, HostileTally>& tallies) {
  std::printf("\n%-30s %9s %10s %10s %10s\n", "attack", "attacks", "sent", "answered", "refused");
  for (const auto& [name, tally] : tallies)
    std::printf("%-30s %9llu %10llu %10llu %10llu\n", name.c_str(),
                static_cast<unsigned long long>(tally.attacks),
                static_cast<unsigned long long>(tally.sent),
                static_cast<unsigned long long>(tally.answered),
                static_cast<unsigned long long>(tally.refused));
}

class HostileSoak : public ProgramTest {
 protected:
  void SetUp() override {
    const auto cores = two_cores(soak.cores);
    if (cores) run_on_core(cores->first);
    if (cores) soak.hostile.core = cores->second;
    for (unsigned number = 0; number < soak.principals; ++number)
      soak.hostile.principals.push_back(
          {.number = number, .address = "127.0.0." + std::to_string(2 + number)});
    std::vector<std::string> arguments{"--tick",
                                       std::to_string(soak.tick_ms) + "ms",
                                       "--objects-max",
                                       "200000",
                                       "--queries-max",
                                       "50000",
                                       "--neighbors-max",
                                       std::to_string(soak.neighbors_max),
                                       "--memory-bytes-max",
                                       std::to_string(soak.memory_mib_max << 20),
                                       "--journal",
                                       log.path("log"),
                                       "--journal-keep",
                                       "1h",
                                       "--log-level",
                                       "error"};
    if (soak.with_keys) {
      keys.emplace(soak.hostile.principals);
      arguments.insert(arguments.end(), {"--keys", keys->folder.path()});
    }
    program.emplace(serve(arguments));
    ASSERT_TRUE(happens([&] { return access(endpoints_path.c_str(), R_OK) == 0; }));
    soak.hostile.endpoints = {endpoint("commands"), endpoint("results"), endpoint("http")};
    soak.hostile.stream = HonestClients::stream;
    attackers.emplace(soak.hostile);
  }

  void expect_in_time(const HonestTimes& alone, const HonestTimes& beside) const {
    const auto expect_p99 = [](const char* what, const std::vector<double>& before,
                               const std::vector<double>& after, double floor_ms) {
      EXPECT_LE(HonestTimes::at(after, 0.99),
                std::max(floor_ms, soak.slower_max * HonestTimes::at(before, 0.99)))
          << "99th percentile of " << what;
    };
    expect_p99("questions", alone.question_ms, beside.question_ms, soak.question_ms);
    expect_p99("updates", alone.update_ms, beside.update_ms, soak.update_ms);
    EXPECT_LE(HonestTimes::at(beside.tick_ms, 1) - soak.tick_ms,
              soak.tick_periods_max * soak.tick_ms)
        << "a tick was late";
  }

  void expect_reached(const std::map<std::string, HostileTally>& tallies) const {
    for (const HostileKind& kind : chosen_kinds(soak.hostile)) {
      const auto found = tallies.find(kind.name);
      const HostileTally tally = found == tallies.end() ? HostileTally{} : found->second;
      EXPECT_TRUE(tally.sent > 0 && (!kind.is_answered || tally.answered + tally.refused > 0))
          << kind.name << " did not reach the server";
    }
  }

  void print_refusals(HonestClients& honest) const {
    std::puts("");
    std::fflush(stdout);
    for (const auto& [name, value] : honest.server_stats())
      if (value > 0 &&
          (name.starts_with("starling_refused_requests_total") ||
           name.starts_with("starling_rows_total") || name.starts_with("starling_loop_turn") ||
           name.starts_with("starling_tick_overruns") || name.starts_with("starling_ticks_failed")))
        std::printf("%-64s %12.6g\n", name.c_str(), value);
  }

  KeysFolder log;  // also the folder of the server's log
  std::optional<SoakKeys> keys;
  std::optional<Program> program;
  std::optional<HostileProcess> attackers;
};

TEST_F(HostileSoak, TheHonestLoseNothing) {
  HonestClients honest(soak.hostile.endpoints, keys ? keys->honest : HonestKeys{},
                       soak.hostile.seed);
  const HonestTimes alone = honest.run(std::max(soak.seconds / 4, 3.0), *program);
  attackers->begin();
  const HonestTimes beside = honest.run(soak.seconds, *program);
  const auto tallies = attackers->end();
  ASSERT_FALSE(tallies.empty()) << "the attacks ended early";
  const std::size_t budget = soak.memory_mib_max << 20;

  std::printf(
      "%u hostile principals with %u connections each for %.0f s, %s keys, cores %s, seed %llu\n\n",
      soak.principals, soak.hostile.connections, soak.seconds, soak.with_keys ? "with" : "without",
      soak.cores.c_str(), static_cast<unsigned long long>(soak.hostile.seed));
  std::printf("%-10s %8s %8s %8s %8s %9s %8s %8s %8s\n", "", "alone", "p50 ms", "p99 ms", "max ms",
              "beside", "p50 ms", "p99 ms", "max ms");
  print("question", alone.question_ms, beside.question_ms);
  print("update", alone.update_ms, beside.update_ms);
  print("tick", alone.tick_ms, beside.tick_ms);
  print("list", alone.list_ms, beside.list_ms);
  std::printf(
      "\nticks lost %llu, rows lost %llu, requests refused %llu; memory %zu MiB alone, "
      "%zu MiB beside, of %zu MiB\n",
      static_cast<unsigned long long>(honest.ticks_lost()),
      static_cast<unsigned long long>(honest.rows_lost()),
      static_cast<unsigned long long>(honest.refusals()), alone.resident_bytes_max >> 20,
      beside.resident_bytes_max >> 20, budget >> 20);
  print(tallies);
  print_refusals(honest);
  std::fflush(stdout);

  EXPECT_EQ(honest.ticks_lost(), 0U);
  EXPECT_EQ(honest.rows_lost(), 0U);
  expect_in_time(alone, beside);
  expect_reached(tallies);
  EXPECT_LE(static_cast<double>(beside.resident_bytes_max),
            static_cast<double>(budget) * (1 + soak.memory_beyond_max) +
                static_cast<double>(sanitizer_bytes));
  program->send_signal(SIGTERM);
  ASSERT_TRUE(program->ends()) << "the server does not end";
  EXPECT_EQ(program->exit_status(), 0) << program->said();
}

}  // namespace
}  // namespace starling::stream

int main(int count, char** arguments) {
  using starling::stream::soak;
  testing::InitGoogleTest(&count, arguments);
  CLI::App app("Attacks a server beside honest clients.");
  app.option_defaults()->always_capture_default();
  app.add_option("--seconds", soak.seconds,
                 "How long the hostile clients attack. The honest ones run alone for a quarter of "
                 "that before");
  app.add_option("--cores", soak.cores,
                 "0:1 puts the server and the honest clients on core 0, and the attacks on core 1; "
                 "any: the system chooses");
  app.add_option("--principals", soak.principals);
  app.add_option("--connections", soak.hostile.connections, "Connections of each principal");
  app.add_option("--seed", soak.hostile.seed);
  app.add_option("--kind", soak.hostile.kinds, "Only attacks of this kind. May be repeated");
  app.add_option("--without", soak.hostile.kinds_left_out,
                 "No attacks of this kind. May be repeated");
  app.add_option("--tick-ms", soak.tick_ms);
  app.add_option("--slower-max", soak.slower_max,
                 "The 99th percentile of questions and updates, at most, as a multiple of that "
                 "without attacks");
  app.add_option("--question-ms", soak.question_ms,
                 "A 99th percentile of questions up to this is no fault in any case");
  app.add_option("--update-ms", soak.update_ms, "The same of updates");
  app.add_option("--tick-periods-max", soak.tick_periods_max,
                 "How much later than its period a tick may be, in periods");
  app.add_option("--neighbors-max", soak.neighbors_max,
                 "The server's --neighbors-max, which bounds the time of a tick without keys");
  app.add_option("--memory-mib-max", soak.memory_mib_max, "The server's --memory-bytes-max");
  app.add_option("--memory-beyond-max", soak.memory_beyond_max,
                 "The part of --memory-mib-max by which the server may exceed it");
  app.add_flag("--with-keys", soak.with_keys,
               "The server has keys, and each hostile client a key and a token with the least "
               "quotas. Else they have other addresses than the honest clients");
  CLI11_PARSE(app, count, arguments);
  return RUN_ALL_TESTS();
}
