// SPDX-License-Identifier: Apache-2.0
// Subscribers join, leave and read at random, while objects move and a new server sometimes
// replaces the old one. The lists that a subscriber holds must always equal the oracle's lists of
// the same tick. This test uses real sockets. The test subscription_simulation_test.cpp uses a
// virtual clock and no sockets.
#include <map>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "tests/stream/support/running_server.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/words.hpp"

namespace starling::stream {
namespace {

constexpr std::uint64_t objects = 40;
constexpr std::size_t subscribers_max = 3;

using Neighbors = std::vector<protocol::HeldNeighbor>;
using Lists = std::map<protocol::ListKey, Neighbors>;

/// A server, an oracle that gets the same data, and the oracle's lists of every tick.
class World {
 public:
  explicit World(const ServerOptions& options) : server_(options), client_(server_.client()) {
    EXPECT_TRUE(client_.put_stream({.name = "all", .on = ReportOn::distance, .with = {}}));
    stream_ = oracle_.put_stream(test::stream("all", ReportOn::distance));
    put(nearest_to(1, 5, 50, 50));
    protocol::QuerySpec follow = nearest_to(2, 3, 0, 0);
    follow.anchor = AnchorKind::follow;
    follow.object = ObjectId{7};
    put(follow);
    put_graph();
  }

  const RunningServer& server() const { return server_; }
  std::uint64_t epoch() const { return client_.epoch(); }

  void move_and_tick(test::Random& random) {
    ++tau_us_;
    Fixes fixes;
    std::vector<ObjectUpdate> updates;
    for (std::uint64_t count = random.below(objects); count > 0; --count) {
      const std::uint64_t id = random.below(objects);
      const auto x = static_cast<std::int32_t>(random.below(10'000));
      const auto y = static_cast<std::int32_t>(random.below(10'000));
      fixes.add(id, tau_us_, x / 100.0, y / 100.0);
      oracle_.update(test::fix(ObjectId{id}, tau_us_, x, y));
    }
    EXPECT_TRUE(client_.update(fixes.batch()));
    if (random.chance(0.3)) {
      const std::vector<std::uint64_t> ids{random.below(objects)};
      const std::vector<std::int64_t> times_us{tau_us_};
      EXPECT_TRUE(client_.remove_objects({ids, times_us}));
      oracle_.remove({ObjectId{ids[0]}, tau_us_});
    }
    if (random.chance(0.2)) put(nearest_to(4 + random.below(3), 4, 20, 80));
    if (random.chance(0.2)) remove(4 + random.below(3));
    if (random.chance(0.1)) remove(graph_id);
    if (random.chance(0.2)) put_graph();
    EXPECT_TRUE(client_.advance_tick(tau_us_));
    oracle_.tick(tau_us_);
    remember();
  }

  const Lists& lists_at(std::int64_t tau_us) const { return history_.at(tau_us); }
  std::int64_t now_us() const { return tau_us_; }

 private:
  static constexpr std::uint64_t graph_id = 3;

  void put_graph() {
    protocol::QuerySpec graph = nearest_to(graph_id, 2, 0, 0);
    graph.anchor = AnchorKind::every_object;
    put(graph);
  }

  void remove(std::uint64_t id) {
    const std::vector<std::uint64_t> ids{id};
    EXPECT_TRUE(client_.remove_queries({"all", ids}));
    oracle_.remove_query(stream_, QueryId{id});
  }

  void put(const protocol::QuerySpec& spec) {
    EXPECT_TRUE(client_.put_queries({"all", {spec}}));
    Anchor anchor;
    anchor.kind = spec.anchor;
    anchor.object = spec.object;
    anchor.position = {static_cast<std::int32_t>(spec.position[0]) * 100,
                       static_cast<std::int32_t>(spec.position[1]) * 100, 0};
    oracle_.put_query(stream_, test::query(static_cast<std::uint64_t>(spec.id), spec.k, anchor));
  }

  void remember() {
    Lists& lists = history_[tau_us_];
    for (const auto& [key, list] : oracle_.lists()) {
      Neighbors neighbors;
      for (const Neighbor& neighbor : list)
        neighbors.push_back({neighbor.object, lattice_.to_metres(neighbor.key)});
      lists[{key.query, key.subject.has_value(), key.subject.value_or(ObjectId{})}] = neighbors;
    }
  }

  Lattice lattice_{SpaceOptions{}};
  RunningServer server_;
  protocol::Client client_;
  test::Oracle oracle_;
  std::uint32_t stream_ = 0;
  std::int64_t tau_us_ = 0;
  std::map<std::int64_t, Lists> history_{{0, {}}};
};

void expect_true_to(const World& world, const protocol::SubscriptionState& state) {
  const auto& at = state.held_at();
  if (!at || at->epoch != world.epoch()) return;
  Lists held;
  for (const auto& [key, list] : state.lists()) held[key] = list.neighbors;
  EXPECT_EQ(held, world.lists_at(at->tau_us)) << "at tick " << to_number(at->tick);
}

TEST(RandomSubscribers, HoldTheDirectAnswerAtTheirTick) {
  for (const std::uint64_t seed : test::seeds(2)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    zmq::context_t context;
    ServerOptions options = manual_options();
    options.subscriber_ticks_max = 2;
    auto world = std::make_unique<World>(options);
    options.commands_endpoint = world->server().endpoints().commands;
    options.results_endpoint = world->server().endpoints().results;
    std::vector<std::unique_ptr<protocol::Subscriber>> subscribers;
    for (int step = 0; step < 120; ++step) {
      world->move_and_tick(random);
      if (subscribers.size() < subscribers_max && random.chance(0.2))
        subscribers.push_back(std::make_unique<protocol::Subscriber>(
            context, world->server().subscriber_options("all")));
      for (auto& subscriber : subscribers) {
        if (random.chance(0.5)) subscriber->poll(0);
        expect_true_to(*world, subscriber->state());
      }
      if (!subscribers.empty() && random.chance(0.05)) subscribers.pop_back();
      if (random.chance(0.02)) {
        world.reset();
        world = std::make_unique<World>(options);
      }
    }
    for (auto& subscriber : subscribers) {
      EXPECT_TRUE(happens([&] {
        world->move_and_tick(random);
        subscriber->poll(50);
        const auto& state = subscriber->state();
        return state.is_live() && state.held_at()->epoch == world->epoch() &&
               state.held_at()->tau_us == world->now_us();
      }));
      expect_true_to(*world, subscriber->state());
    }
  }
}

}  // namespace
}  // namespace starling::stream
