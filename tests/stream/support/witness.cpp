// SPDX-License-Identifier: Apache-2.0
// Moves objects, and compares the server with the oracle: see witness.hpp.
#include "tests/stream/support/witness.hpp"

#include <gtest/gtest.h>

#include "starling/knn/base/clocks.hpp"
#include "tests/support/words.hpp"

namespace starling::stream {

namespace {

constexpr std::uint64_t objects = 50;
constexpr std::uint64_t first_id = 0x57'0000'0000;
constexpr std::uint64_t query_count = 5;
constexpr std::uint32_t k = 5;
constexpr std::int32_t corner_cm = 900'000'000;
constexpr std::uint64_t side_cm = 10'000;
constexpr std::uint64_t sight_cm = 100'000;
constexpr const char* stream_name = "witness";

double metres(std::int32_t cm) {
  return cm / 100.0;
}

protocol::SubscriberOptions subscriber_options(const Endpoints& endpoints,
                                               const std::optional<protocol::KeyPair>& key,
                                               std::int64_t reconnect_after_ms) {
  protocol::SubscriberOptions options;
  options.results = endpoints.results;
  options.client.commands = endpoints.commands;
  options.client.name = "witness";
  options.client.key = key;
  options.client.reconnect_after_ms = reconnect_after_ms;
  options.subscription.stream = stream_name;
  options.retry_interval_ms = 1;
  return options;
}

std::vector<protocol::HeldNeighbor> in_metres(const test::List& list) {
  const Lattice lattice{SpaceOptions{}};
  std::vector<protocol::HeldNeighbor> neighbors;
  for (const Neighbor& neighbor : list)
    neighbors.push_back({neighbor.object, lattice.to_metres(neighbor.key)});
  return neighbors;
}

}  // namespace

Witness::Witness(zmq::context_t& context, const Endpoints& endpoints, Ticks ticks,
                 const std::optional<protocol::KeyPair>& key, std::int64_t reconnect_after_ms)
    : ticks_(ticks),
      client_(context, {.commands = endpoints.commands,
                        .name = "witness",
                        .key = key,
                        .reconnect_after_ms = reconnect_after_ms}),
      subscriber_(context, subscriber_options(endpoints, key, reconnect_after_ms)),
      time_us_(ticks == Ticks::by_the_clock ? wall_now_us() : 0) {
  EXPECT_TRUE(client_.put_stream({.name = stream_name, .on = ReportOn::distance, .with = {}}));
  const std::uint32_t stream = oracle_.put_stream(test::stream(stream_name, ReportOn::distance));
  for (std::uint64_t id = 0; id < query_count; ++id) {
    const auto x = corner_cm + static_cast<std::int32_t>(id * side_cm / query_count);
    protocol::QuerySpec query;
    query.id = QueryId{id};
    query.k = k;
    query.position = {metres(x), metres(-corner_cm), 0};
    query.distance_max_m = static_cast<double>(sight_cm) / 100;
    queries_.push_back(query);
    oracle_.put_query(stream, test::query(id, k, test::fixed_at(x, -corner_cm),
                                          test::within(sight_cm * sight_cm)));
  }
  EXPECT_TRUE(client_.put_queries({stream_name, queries_}));
}

void Witness::move(test::Random& random) {
  ++time_us_;
  Fixes fixes;
  for (std::uint64_t id = first_id; id < first_id + objects; ++id) {
    const auto x = corner_cm + static_cast<std::int32_t>(random.below(side_cm));
    const auto y = -corner_cm + static_cast<std::int32_t>(random.below(side_cm));
    fixes.add(id, time_us_, metres(x), metres(y));
    oracle_.update(test::fix(ObjectId{id}, time_us_, x, y));
  }
  EXPECT_EQ(client_.update(fixes.batch()).value().accepted, objects);
}

protocol::NeighborAnswers Witness::answers_of_a_new_tick() {
  if (ticks_ == Ticks::on_request) {
    EXPECT_TRUE(client_.advance_tick(time_us_));
    return client_.get_neighbors({queries_}).value();
  }
  // The tick under way may have begun before the last update. The tick after it has all updates.
  const std::uint64_t first = to_number(client_.get_neighbors({queries_}).value().tick);
  protocol::NeighborAnswers answers;
  EXPECT_TRUE(happens([&] {
    subscriber_.poll(10);  // until a tick has come, a further question would be in vain
    answers = client_.get_neighbors({queries_}).value();
    return to_number(answers.tick) >= first + 2;
  }));
  return answers;
}

void Witness::expect_exact() {
  oracle_.tick(time_us_);
  const auto answers = answers_of_a_new_tick();
  ASSERT_EQ(answers.lists.size(), query_count);
  ASSERT_TRUE(happens([&] {
    subscriber_.poll(10);
    const auto& state = subscriber_.state();
    return state.is_live() && state.held_at()->tick >= answers.tick;
  })) << subscriber_.obstacle();
  for (std::uint64_t id = 0; id < query_count; ++id) {
    const auto expected = in_metres(oracle_.lists().at({0, QueryId{id}, std::nullopt}));
    EXPECT_EQ(answers.lists[id].neighbors, expected);
    EXPECT_EQ(subscriber_.state().lists().at({.query = QueryId{id}}).neighbors, expected);
  }
}

}  // namespace starling::stream
