// SPDX-License-Identifier: Apache-2.0
// Checks that the server is prompt, whatever others send: the requests of watched connections are
// answered, and timers run, within bounds that grow with the number of the others and with the cost
// of one turn, but not with the number of requests. Nothing is checked while a fault holds the
// server up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "tests/server_simulation/history.hpp"
#include "tests/server_simulation/virtual_world.hpp"

namespace starling::simulation {

class Promptness {
 public:
  /// How long a request may wait for its answer, and a timer to run after its time.
  struct Bounds {
    std::int64_t request_us = 0;
    std::int64_t timer_us = 0;
  };

  Promptness(const VirtualWorld& world, History& history) : world_(world), history_(history) {}

  void set_bounds(const Bounds& bounds) { bounds_ = bounds; }
  const Bounds& bounds() const { return bounds_; }
  /// From now on, each request of this connection must be answered in time. Its client sends one
  /// after the other.
  void watch(std::uint64_t connection) { watched_.insert(connection); }

  void arrived(std::uint64_t connection) {
    if (watched_.contains(connection) && !world_.is_disturbed())
      arrived_us_.try_emplace(connection, world_.now_us());
  }
  void replied(std::uint64_t connection) {
    const auto found = arrived_us_.find(connection);
    if (found == arrived_us_.end()) return;
    check("a request", found->second, bounds_.request_us, longest_request_us_);
    arrived_us_.erase(found);
    ++requests_;
  }
  /// `due_us` is the time at which the timer should have run.
  void timer_ran(std::int64_t due_us) {
    check("a timer", due_us, bounds_.timer_us, longest_timer_us_);
  }
  /// Checks the requests that have no answer yet.
  void check_waiting() {
    std::int64_t longest_us = 0;
    for (const auto& [connection, since_us] : arrived_us_)
      check("a request without an answer", since_us, bounds_.request_us, longest_us);
  }
  /// The server has ended, and answers nothing that has arrived.
  void ended() { arrived_us_.clear(); }

  std::uint64_t requests() const { return requests_; }
  std::int64_t longest_request_us() const { return longest_request_us_; }
  std::int64_t longest_timer_us() const { return longest_timer_us_; }

 private:
  void check(const char* what, std::int64_t since_us, std::int64_t bound_us,
             std::int64_t& longest_us) {
    if (world_.was_disturbed_since(since_us)) return;
    const std::int64_t took_us = world_.now_us() - since_us;
    longest_us = std::max(longest_us, took_us);
    if (took_us <= bound_us) return;
    history_.violated(std::string(what) + " has waited " + std::to_string(took_us) +
                      " us, and may wait " + std::to_string(bound_us) +
                      " us, whatever others send");
  }

  const VirtualWorld& world_;
  History& history_;
  Bounds bounds_;
  std::set<std::uint64_t> watched_;
  std::map<std::uint64_t, std::int64_t> arrived_us_;  ///< the key is the connection
  std::uint64_t requests_ = 0;
  std::int64_t longest_request_us_ = 0;
  std::int64_t longest_timer_us_ = 0;
};

}  // namespace starling::simulation
