// SPDX-License-Identifier: Apache-2.0
// Tests a running server of vectors. Subscribers, snapshots and answers must show the same lists,
// votes and means as the model at the same tick. Also tests the reasons for which rows and requests
// are refused.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/support/vector_world.hpp"

namespace starling::stream {
namespace {

using protocol::RowReason;
using testing::HasSubstr;

SpaceOptions vectors(std::uint32_t dimension, Metric metric = Metric::l2) {
  SpaceOptions space;
  space.space = Space::vector;
  space.dimension = dimension;
  space.metric = metric;
  return space;
}

VectorLists held_by(const protocol::Subscriber& subscriber) {
  return {subscriber.state().lists().begin(), subscriber.state().lists().end()};
}

/// Sorts neighbours by id and sets their distances to 0. A stream with ReportOn::membership
/// promises the ids only.
VectorLists members_of(VectorLists lists) {
  for (auto& [key, list] : lists) {
    for (auto& neighbor : list.neighbors) neighbor.distance_m = 0;
    std::ranges::sort(list.neighbors, {}, &protocol::HeldNeighbor::object);
  }
  return lists;
}

std::string text_of(const VectorLists& lists, const protocol::ListKey& key) {
  const auto found = lists.find(key);
  if (found == lists.end()) return "no list";
  std::string text = "vote " + std::to_string(found->second.vote) + ", mean " +
                     (found->second.mean ? std::to_string(*found->second.mean) : "none") + ":";
  for (const auto& neighbor : found->second.neighbors)
    text.append(" ").append(std::to_string(to_number(neighbor.object)) + " (" +
                            std::to_string(neighbor.distance_m) + ")");
  return text;
}

void expect_same(const VectorLists& held, const VectorLists& expected, std::string_view what) {
  VectorLists all = expected;
  all.insert(held.begin(), held.end());
  for (const auto& [key, list] : all) {
    const auto in_held = held.find(key);
    const auto in_expected = expected.find(key);
    const bool is_same = in_held != held.end() && in_expected != expected.end() &&
                         in_held->second == in_expected->second;
    EXPECT_TRUE(is_same) << what << ", query " << to_number(key.query) << ", subject "
                         << (key.has_subject ? std::to_string(to_number(key.subject)) : "none")
                         << "\n held " << text_of(held, key) << "\n true "
                         << text_of(expected, key);
  }
}

void expect_true_to(const VectorWorld& world, const protocol::Subscriber& all,
                    const protocol::Subscriber& members) {
  if (const auto& at = all.state().held_at())
    expect_same(held_by(all), world.lists_at(at->tau_us), "all");
  if (const auto& at = members.state().held_at())
    expect_same(members_of(held_by(members)), members_of(world.lists_at(at->tau_us)), "members");
}

VectorLists snapshot_of(protocol::Client& client, const std::string& stream) {
  VectorLists lists;
  EXPECT_TRUE(client.get_snapshot({.stream = stream}, [&](const protocol::SnapshotPage& page) {
    for (std::size_t list = 0; list < page.lists.list_count(); ++list)
      lists[key_of(page.lists, list)] = list_of(page.lists, list);
  }));
  return lists;
}

struct Case {
  std::uint32_t dimension = 1;
  Metric metric = Metric::l2;
};

class Vectors : public testing::TestWithParam<Case> {};

TEST_P(Vectors, SubscribersSnapshotsAndAnswersAreTheModelsLists) {
  for (const std::uint64_t seed : test::seeds(1)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    VectorWorld world(vectors(GetParam().dimension, GetParam().metric), random);
    zmq::context_t context;
    const auto subscribe = [&](const char* stream) {
      return std::make_unique<protocol::Subscriber>(context,
                                                    world.server().subscriber_options(stream));
    };
    auto all = subscribe("all");
    auto members = subscribe("members");
    for (int step = 0; step < 60; ++step) {
      world.go_on();
      if (random.chance(0.1)) all = subscribe("all");
      if (random.chance(0.6)) all->poll(0);
      if (random.chance(0.6)) members->poll(0);
      expect_true_to(world, *all, *members);
      const auto questions = world.questions();
      const auto answers = world.client().get_neighbors({questions}).value();
      for (std::size_t question = 0; question < questions.size(); ++question)
        EXPECT_EQ(answers.lists[question], world.model().answer(questions[question]));
    }
    EXPECT_TRUE(happens([&] {
      world.go_on();
      all->poll(50);
      members->poll(50);
      const auto is_up_to_date = [&](const protocol::Subscriber& subscriber) {
        const auto& state = subscriber.state();
        return state.is_live() && state.held_at()->tau_us == world.now_us();
      };
      return is_up_to_date(*all) && is_up_to_date(*members);
    }));
    expect_true_to(world, *all, *members);
    expect_same(snapshot_of(world.client(), "all"), world.model().lists(), "snapshot");
    EXPECT_FALSE(world.model().lists().empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Spaces, Vectors,
                         testing::Values(Case{1, Metric::l2}, Case{3, Metric::l2},
                                         Case{33, Metric::cosine}, Case{4, Metric::hellinger},
                                         Case{3, Metric::inner_product}, Case{5, Metric::l1},
                                         Case{4, Metric::kullback_leibler}),
                         [](const auto& each) {
                           std::string name(name_of(each.param.metric));
                           std::erase(name, '-');
                           return name + std::to_string(each.param.dimension);
                         });

class VectorServer : public testing::Test {
 protected:
  explicit VectorServer(Metric metric = Metric::hellinger)
      : server(options(metric)), client(server.client()) {}
  static ServerOptions options(Metric metric) {
    ServerOptions options = manual_options();
    options.processor.space = vectors(2, metric);
    return options;
  }
  protocol::BatchReply update(const std::vector<float>& components) {
    const std::vector<std::uint64_t> ids(components.size() / 2, 7);
    const std::vector<std::int64_t> times_us(ids.size(), ++time_us);
    return client
        .update({.ids = ids, .times_us = times_us, .coordinates_f32 = components, .dimension = 2})
        .value();
  }

  std::int64_t time_us = 0;
  RunningServer server;
  protocol::Client client;
};

TEST_F(VectorServer, SaysItsDimensionAndMetric) {
  EXPECT_EQ(client.server().space.space, Space::vector);
  EXPECT_EQ(client.server().space.dimension, 2u);
  EXPECT_EQ(client.server().space.metric, Metric::hellinger);
}

TEST_F(VectorServer, ABadComponentRejectsItsRowWithItsColumnAndNoOther) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const auto reply = update({1, 2, 3, std::nanf(""), -inf, 4, 0x1.1p56f, 1, 1, -1, 5, 6});
  EXPECT_EQ(reply.accepted, 2u);
  const std::vector<protocol::RejectedRow> expected{{1, RowReason::component_not_finite, 1},
                                                    {2, RowReason::component_not_finite, 0},
                                                    {3, RowReason::component_too_large, 0},
                                                    {4, RowReason::component_negative, 1}};
  EXPECT_EQ(reply.first_rejected, expected);
  EXPECT_EQ(server.stat("starling_rows_total{outcome=\"component_not_finite\"}"), 2);
  EXPECT_EQ(client.advance_tick(1).value().object_count, 1u);
  const auto answers = client.get_neighbors({{{.k = 5, .vector = {5, 6}}}}).value();
  ASSERT_EQ(answers.lists[0].neighbors.size(), 1u);
  EXPECT_EQ(answers.lists[0].neighbors[0].distance_m, 0);  // the last row of the batch was found
}

TEST_F(VectorServer, ADoubleBeyondFloat32IsTooLargeAndNotInfinite) {
  const std::uint64_t ids[] = {7};
  const std::int64_t times_us[] = {1};
  const double components[] = {1, 1e300};
  const auto reply =
      client.update({.ids = ids, .times_us = times_us, .coordinates = components, .dimension = 2})
          .value();
  ASSERT_EQ(reply.first_rejected.size(), 1u);
  EXPECT_EQ(reply.first_rejected[0], (protocol::RejectedRow{0, RowReason::component_too_large, 1}));
}

TEST_F(VectorServer, AQueryWithABadComponentIsRejectedAloneAndAQuestionAltogether) {
  ASSERT_TRUE(client.put_stream({.name = "s"}));
  const protocol::QuerySpec fine{.id = QueryId{1}, .vector = {1, 2}};
  const protocol::QuerySpec bad{.id = QueryId{2}, .vector = {1, -2}};
  const auto reply = client.put_queries({"s", {bad, fine}}).value();
  EXPECT_EQ(reply.accepted, 1u);
  EXPECT_EQ(reply.first_rejected,
            (std::vector<protocol::RejectedRow>{{0, RowReason::component_negative, 1}}));
  const auto refused = client.get_neighbors({{fine, bad}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.problem().code, protocol::ErrorCode::bad_value);
  EXPECT_THAT(refused.problem().sentence,
              HasSubstr("Question 1: its vector is refused: component 1 (from 0) is negative"));
}

TEST_F(VectorServer, AnotherDimensionIsRefusedCountedAndChangesNothing) {
  const std::uint64_t ids[] = {7};
  const std::int64_t times_us[] = {1};
  const float components[] = {1, 2, 3};
  const auto refused = client.update(
      {.ids = ids, .times_us = times_us, .coordinates_f32 = components, .dimension = 3});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.problem().sentence,
            "The batch has rows of dimension 3; this server's vectors are of dimension 2.");
  EXPECT_EQ(server.stat("starling_refused_requests_total{code=\"bad_value\"}"), 1);
  EXPECT_EQ(client.advance_tick(1).value().object_count, 0u);
}

TEST_F(VectorServer, AStreamWithPositionsIsRefused) {
  const auto refused = client.put_stream({.name = "s", .with = {.position = true}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.problem().sentence, HasSubstr("Lists do not carry vectors"));
}

TEST_F(VectorServer, AListWhoseVoteAloneChangesIsReported) {
  ASSERT_TRUE(client.put_stream({.name = "s", .on = ReportOn::membership}));
  ASSERT_TRUE(client.put_queries({"s", {{.k = 3, .vector = {1, 1}, .vote = true}}}));
  const auto tick_with = [&](std::vector<Label> labels) {
    const std::uint64_t ids[] = {1, 2};
    const std::vector<std::int64_t> times_us(2, ++time_us);
    const float components[] = {1, 1, 2, 2};
    EXPECT_TRUE(client.update({.ids = ids,
                               .times_us = times_us,
                               .coordinates_f32 = components,
                               .dimension = 2,
                               .labels = labels}));
    return client.advance_tick(time_us).value().list_count;
  };
  const auto vote = [&] { return snapshot_of(client, "s").begin()->second.vote; };
  EXPECT_EQ(tick_with({}), 1u);
  EXPECT_EQ(vote(), no_label);
  EXPECT_EQ(tick_with({no_label, 5}), 1u);
  EXPECT_EQ(vote(), 5);
  EXPECT_EQ(tick_with({}), 0u);
  EXPECT_EQ(tick_with({4, 5}), 1u);
  EXPECT_EQ(vote(), 4);
  EXPECT_EQ(tick_with({4, 4}), 0u);
  EXPECT_EQ(tick_with({no_label, no_label}), 1u);
  EXPECT_EQ(vote(), no_label);
}

TEST_F(VectorServer, AListWhoseMeanAloneChangesIsReported) {
  ASSERT_TRUE(client.put_stream({.name = "s", .on = ReportOn::membership}));
  ASSERT_TRUE(client.put_queries(
      {"s", {{.k = 3, .vector = {1, 1}, .regress = RegressionWeights::uniform}}}));
  const auto tick_with = [&](std::vector<double> values) {
    const std::uint64_t ids[] = {1, 2};
    const std::vector<std::int64_t> times_us(2, ++time_us);
    const float components[] = {1, 1, 2, 2};
    EXPECT_TRUE(client.update({.ids = ids,
                               .times_us = times_us,
                               .coordinates_f32 = components,
                               .dimension = 2,
                               .values = values}));
    return client.advance_tick(time_us).value().list_count;
  };
  const auto mean = [&] { return snapshot_of(client, "s").begin()->second.mean; };
  EXPECT_EQ(tick_with({}), 1u);
  EXPECT_EQ(mean(), std::nullopt);
  EXPECT_EQ(tick_with({no_value, 5}), 1u);
  EXPECT_EQ(mean(), 5);
  EXPECT_EQ(tick_with({}), 0u);
  EXPECT_EQ(tick_with({4, 5}), 1u);
  EXPECT_EQ(mean(), 4.5);
  EXPECT_EQ(tick_with({5, 4}), 0u);
  EXPECT_EQ(tick_with({no_value, no_value}), 1u);
  EXPECT_EQ(mean(), std::nullopt);
}

TEST_F(VectorServer, AnInfiniteValueRejectsItsRowAndNoOther) {
  const std::uint64_t ids[] = {1, 2, 3};
  const std::int64_t times_us[] = {1, 1, 1};
  const float components[] = {1, 1, 2, 2, 3, 3};
  const double values[] = {0.5, std::numeric_limits<double>::infinity(), no_value};
  const auto reply = client
                         .update({.ids = ids,
                                  .times_us = times_us,
                                  .coordinates_f32 = components,
                                  .dimension = 2,
                                  .values = values})
                         .value();
  EXPECT_EQ(reply.accepted, 2u);
  EXPECT_EQ(reply.first_rejected,
            (std::vector<protocol::RejectedRow>{{1, RowReason::value_infinite}}));
  EXPECT_EQ(server.stat("starling_rows_total{outcome=\"value_infinite\"}"), 1);
  EXPECT_EQ(client.advance_tick(1).value().object_count, 2u);
}

TEST_F(VectorServer, ABatchBeyondTheCreditInBytesIsToldSo) {
  ServerOptions small = options(Metric::l2);
  small.processor.space = vectors(4096);
  small.limits.frame_bytes_max = 64 << 10;
  small.limits.credit_bytes = 64 << 10;
  RunningServer other(small);
  auto producer = other.client();
  const std::vector<std::uint64_t> ids(5);
  const std::vector<std::int64_t> times_us(5);
  const std::vector<float> components(5 * 4096);
  const auto refused = producer.update(
      {.ids = ids, .times_us = times_us, .coordinates_f32 = components, .dimension = 4096});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.problem().code, protocol::ErrorCode::frame_too_large);
  EXPECT_THAT(
      refused.problem().sentence,
      testing::EndsWith("at most frame-bytes-max (65536) are allowed, so split it: some 3 rows "
                        "of dimension 4096 fit."));
}

TEST(VectorServerOptions, TheBytesOfAllVectorsBoundObjectsAndQueries) {
  ServerOptions options = manual_options();
  options.processor.space = vectors(2);
  options.vector_bytes_max = 31;  // room for three vectors of two components, and 7 bytes more
  RunningServer server(options);
  auto client = server.client();
  ASSERT_TRUE(client.put_stream({.name = "s"}));
  const std::vector<std::uint64_t> ids{1, 2, 3, 4};
  const std::vector<std::int64_t> times_us(4, 1);
  const std::vector<float> components(4 * 2, 1);
  const protocol::BatchReply updated =
      client
          .update({.ids = ids, .times_us = times_us, .coordinates_f32 = components, .dimension = 2})
          .value();
  using Reasons = std::vector<protocol::ReasonCount>;
  EXPECT_EQ(updated.reasons,
            (Reasons{{protocol::RowReason::too_many_objects, 1, {"objects-max", 3}}}));
  protocol::PutQueries queries{"s", {}};
  for (const std::uint64_t id : ids)
    queries.queries.push_back({.id = QueryId{id}, .k = 1, .vector = {1, 1}});
  EXPECT_EQ(client.put_queries(queries).value().reasons,
            (Reasons{{protocol::RowReason::too_many_queries, 1, {"queries-max", 3}}}));
}

void expect_refused(const ServerOptions& options, const std::string& sentence) {
  EXPECT_THAT([&] { Server(options, make_engine(options.processor.space)); },
              testing::ThrowsMessage<std::invalid_argument>(sentence));
}

TEST(VectorServerOptions, TheBytesOfAllVectorsMustHoldOne) {
  ServerOptions options = manual_options();
  options.processor.space = vectors(4096);
  options.vector_bytes_max = (16 << 10) - 1;
  expect_refused(
      options,
      "vector-bytes-max: the bytes of all vectors must hold one of dimension 4096, so at least "
      "16384 bytes, not 16383");
}

TEST(VectorServerOptions, AFrameMustHoldAVector) {
  ServerOptions options = manual_options();
  options.processor.space = vectors(4096);
  options.limits.frame_bytes_max = 16 << 10;
  expect_refused(
      options,
      "frame-bytes-max: a request must hold a vector of dimension 4096, so at least 17408 "
      "bytes, not 16384");
}

}  // namespace
}  // namespace starling::stream
