// SPDX-License-Identifier: Apache-2.0
// Forks, and steps the attacks of each connection in turn: see hostile_mix.hpp.
#include "tests/stream/soak/hostile_mix.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.hpp>

namespace starling::stream {

namespace {

using test::Random;
using Clock = std::chrono::steady_clock;

/// A thread takes the attacks of half of the principals.
constexpr std::size_t thread_count = 2;
constexpr int sockets_max = 8192;

std::vector<HostileKind> those_of(const HostileOptions& options, std::vector<HostileKind> kinds) {
  const auto is_in = [](const HostileKind& kind, const std::vector<std::string>& names) {
    return std::ranges::find(names, kind.name) != names.end();
  };
  std::erase_if(kinds, [&](const HostileKind& kind) {
    return (!options.kinds.empty() && !is_in(kind, options.kinds)) ||
           is_in(kind, options.kinds_left_out);
  });
  return kinds;
}

std::vector<HostileKind> kinds_without_session(const HostileOptions& options) {
  std::vector<HostileKind> all = kinds_of_peers();
  for (auto* more : {kinds_of_strangers, kinds_of_http})
    std::ranges::move(more(), std::back_inserter(all));
  return those_of(options, std::move(all));
}

/// A connection of a principal.
struct HostileSlot {
  Attacker attacker;
  const std::vector<HostileKind>* kinds = nullptr;
  HostileSession session{};
  const HostileKind* kind = nullptr;
  HostileStep step{};
  Clock::time_point until{};
};

/// Attacks of several principals on one thread.
class HostileThread {
 public:
  HostileThread(const HostileOptions& options, std::size_t number)
      : options_(options),
        random_(options.seed * thread_count + number),
        with_session_(those_of(options, kinds_of_sessions())),
        without_session_(kinds_without_session(options)) {
    context_.set(zmq::ctxopt::max_sockets, sockets_max);
    for (std::size_t at = number; at < options.principals.size(); at += thread_count)
      for (unsigned connection = 0; connection < options.connections; ++connection)
        add_slot(options.principals[at], connection < options.sessions);
    thread_ = std::thread([this] { run(); });
  }

  std::map<std::string, HostileTally> end() {
    stopping_ = true;
    thread_.join();
    slots_.clear();
    return tallies_;
  }

 private:
  void add_slot(const HostilePrincipal& principal, bool has_session) {
    const auto* kinds = has_session ? &with_session_ : &without_session_;
    if (kinds->empty()) return;
    HostileSlot& slot = slots_.emplace_back();
    slot.kinds = kinds;
    slot.attacker = {.endpoints = options_.endpoints,
                     .stream = options_.stream,
                     .principal = principal,
                     .context = &context_};
    if (has_session) slot.attacker.session = &slot.session;
  }

  void run() {
    while (!stopping_) {
      const auto since = Clock::now();
      for (HostileSlot& slot : slots_) take_step(slot, since);
      // Attacks that only wait would otherwise take the processor from honest clients.
      if (Clock::now() - since < std::chrono::milliseconds(1))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void take_step(HostileSlot& slot, Clock::time_point now) {
    if (now >= slot.until) {
      slot.step = {};
      slot.kind = &random_.pick(*slot.kinds);
      slot.attacker.tally = &tallies_[slot.kind->name];
      slot.until = now + std::chrono::milliseconds(random_.between(1000, 5000));
    }
    if (!slot.step) {
      slot.step = slot.kind->make(slot.attacker, random_);
      ++slot.attacker.tally->attacks;
    }
    if (!slot.step(random_)) slot.step = {};
  }

  HostileOptions options_;
  Random random_;
  std::vector<HostileKind> with_session_;
  std::vector<HostileKind> without_session_;
  zmq::context_t context_;
  std::map<std::string, HostileTally> tallies_;
  std::deque<HostileSlot> slots_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

std::map<std::string, HostileTally> attack_until_told(const HostileOptions& options, int orders) {
  std::deque<HostileThread> threads;
  for (std::size_t number = 0; number < thread_count; ++number)
    threads.emplace_back(options, number);
  char order = 0;
  while (read(orders, &order, 1) < 0 && errno == EINTR) {
  }
  std::map<std::string, HostileTally> all;
  for (HostileThread& thread : threads)
    for (const auto& [name, tally] : thread.end()) {
      HostileTally& sum = all[name];
      sum.attacks += tally.attacks;
      sum.sent += tally.sent;
      sum.answered += tally.answered;
      sum.refused += tally.refused;
    }
  return all;
}

/// What the process does.
void attack(const HostileOptions& options, int orders, int tallies) {
  if (options.core) run_on_core(*options.core);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  char order = 0;
  if (read(orders, &order, 1) != 1) return;
  std::ostringstream text;
  for (const auto& [name, tally] : attack_until_told(options, orders))
    text << tally.attacks << ' ' << tally.sent << ' ' << tally.answered << ' ' << tally.refused
         << ' ' << name << '\n';
  const std::string all = text.str();
  for (std::size_t at = 0; at < all.size();) {
    const ssize_t count = write(tallies, all.data() + at, all.size() - at);
    if (count <= 0) return;
    at += static_cast<std::size_t>(count);
  }
}

}  // namespace

void run_on_core(unsigned core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (sched_setaffinity(0, sizeof(cores), &cores) != 0)
    throw std::runtime_error("there is no core " + std::to_string(core));
}

HostileProcess::HostileProcess(const HostileOptions& options) {
  std::array<int, 2> orders{};
  std::array<int, 2> tallies{};
  if (pipe2(orders.data(), O_CLOEXEC) != 0 || pipe2(tallies.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("pipe2 failed");
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ == 0) {
    close(orders[1]);
    close(tallies[0]);
    try {
      attack(options, orders[0], tallies[1]);
      _exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "the attacks ended: %s\n", error.what());
      _exit(1);
    }
  }
  close(orders[0]);
  close(tallies[1]);
  orders_ = orders[1];
  tallies_ = tallies[0];
}

HostileProcess::~HostileProcess() {
  if (pid_ > 0) end();
}

void HostileProcess::begin() const {
  if (write(orders_, "b", 1) != 1) throw std::runtime_error("the attacks have ended");
}

std::map<std::string, HostileTally> HostileProcess::end() {
  close(orders_);
  std::string all;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = read(tallies_, buffer.data(), buffer.size())) > 0;)
    all.append(buffer.data(), static_cast<std::size_t>(count));
  close(tallies_);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
  std::map<std::string, HostileTally> tallies;
  std::istringstream lines(all);
  HostileTally tally;
  std::string name;
  while (lines >> tally.attacks >> tally.sent >> tally.answered >> tally.refused &&
         std::getline(lines >> std::ws, name))
    tallies[name] = tally;
  return tallies;
}

std::vector<HostileKind> chosen_kinds(const HostileOptions& options) {
  std::vector<HostileKind> kinds = those_of(options, kinds_of_sessions());
  std::ranges::move(kinds_without_session(options), std::back_inserter(kinds));
  return kinds;
}

}  // namespace starling::stream
