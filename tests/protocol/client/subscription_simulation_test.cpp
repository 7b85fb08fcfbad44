// SPDX-License-Identifier: Apache-2.0
// Simulates a subscriber on a bad network, on a virtual clock. The subscriber joins late, reads
// slowly from a queue that drops ticks, loses pages, and sees servers restart. After every event it
// holds the true lists of a tick, or no lists. Once the network is good, it catches up. A seed that
// fails can be replayed exactly.
#include <deque>
#include <memory>

#include <gtest/gtest.h>

#include "starling/protocol/client/subscription.hpp"
#include "tests/protocol/client/fake_stream.hpp"
#include "tests/support/random.hpp"

namespace starling::protocol {
namespace {

using test::Bytes;
using test::FakeStream;
using test::PageReply;
using test::TickFrames;

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : random_(seed) {
    state_ = std::make_unique<SubscriptionState>(options());
    start_server();
  }

  void step() {
    const std::uint64_t action = random_.below(100);
    if (action < 35) {
      publish();
    } else if (action < 68) {
      read_tick();
    } else if (action < 94) {
      move_snapshot();
    } else if (action < 96) {
      lose_waiting_ticks();
    } else if (action < 98) {
      pages_.clear();  // The server has dropped the snapshot.
    } else if (action < 99) {
      rejoin();
    } else {
      start_server();
    }
    check();
  }

  /// Lets the network lose nothing more. After some ticks the subscriber must be up to date.
  void calm_down() {
    queue_max_ = 1000;
    publish();
    for (int round = 0; round < 10; ++round) {
      while (!queue_.empty()) read_tick();
      for (int page = 0; page < 40 && state_->wanted_page(); ++page) move_snapshot(false);
      check();
    }
    ASSERT_TRUE(state_->is_live());
    EXPECT_EQ(*state_->held_at(), server().now());
  }

  const SubscriptionState& state() const { return *state_; }

 private:
  static SubscriptionOptions options() { return {.stream = "riders", .buffer_bytes_max = 8000}; }
  FakeStream& server() { return *servers_.back(); }

  void start_server() {
    servers_.push_back(std::make_unique<FakeStream>(servers_.size() + 1, random_.next()));
    pages_.clear();
    // Ticks of the old server may still be on their way.
    if (random_.chance(0.5)) queue_.clear();
  }

  void publish() {
    TickFrames frames = server().tick(random_.chance(0.05));
    if (queue_.size() < queue_max_) queue_.push_back(std::move(frames));
  }

  void read_tick() {
    if (queue_.empty()) return;
    state_->on_tick(test::receive(queue_.front()));
    queue_.pop_front();
  }

  void lose_waiting_ticks() {
    if (!queue_.empty()) queue_.erase(queue_.begin(), queue_.begin() + 1 + pick_below_size());
  }
  std::ptrdiff_t pick_below_size() {
    return static_cast<std::ptrdiff_t>(random_.below(queue_.size()));
  }

  void move_snapshot(bool may_refuse = true) {
    const auto wanted = state_->wanted_page();
    if (!wanted) return;
    if (wanted->page == 0) pages_ = server().snapshot(1 + random_.below(5));
    const bool is_there = wanted->page < pages_.size();
    if (!is_there || (may_refuse && random_.chance(0.1))) return state_->on_page_refused();
    state_->on_page(PageReply(pages_[wanted->page]).page());
  }

  void rejoin() {
    state_ = std::make_unique<SubscriptionState>(options());
    queue_.clear();
  }

  void check() {
    ASSERT_LE(state_->buffered_bytes(), options().buffer_bytes_max);
    const auto& at = state_->held_at();
    if (!at) return;
    const FakeStream& author = *servers_[at->epoch - 1];
    ASSERT_EQ(state_->lists(), author.truth(at->tick))
        << "epoch " << at->epoch << " tick " << to_number(at->tick);
  }

  starling::test::Random random_;
  std::vector<std::unique_ptr<FakeStream>> servers_;
  std::deque<TickFrames> queue_;  ///< ticks on their way to the subscriber
  std::size_t queue_max_ = 3;
  std::vector<Bytes> pages_;  ///< the pages of the snapshot under way
  std::unique_ptr<SubscriptionState> state_;
};

TEST(SubscriptionSimulation, WhatASubscriberHoldsIsTheTruthOfItsTick) {
  std::uint64_t applied = 0;
  std::uint64_t lost = 0;
  std::uint64_t restarts = 0;
  for (const std::uint64_t seed : starling::test::seeds(200)) {
    SCOPED_TRACE(starling::test::replay_hint(seed));
    Simulation simulation(seed);
    for (int step = 0; step < 400; ++step) {
      simulation.step();
      if (HasFatalFailure()) return;
    }
    simulation.calm_down();
    if (HasFatalFailure()) return;
    applied += simulation.state().counters().ticks_applied;
    lost += simulation.state().counters().ticks_lost;
    restarts += simulation.state().counters().restarts;
  }
  // The simulation is a test only if ticks are applied, ticks are lost, and servers restart. If few
  // seeds run, these events may be too rare to be checked.
  if (starling::test::seeds(200).size() < 100) return;
  EXPECT_GT(applied, 1000u);
  EXPECT_GT(lost, 100u);
  EXPECT_GT(restarts, 100u);
}

}  // namespace
}  // namespace starling::protocol
