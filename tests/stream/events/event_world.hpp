// SPDX-License-Identifier: Apache-2.0
// A server of any space whose objects and queries change at random. Tests compare what a subscriber
// of the results socket and a reader of events hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/stream/support/running_server.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {

class EventWorld {
 public:
  static constexpr const char* stream = "all";

  /// All ticks have times after `time_us`.
  EventWorld(const ServerOptions& options, Space space, std::int64_t time_us)
      : space_(space), server_(options), client_(server_.client()), tau_us_(time_us) {
    put_stream();
  }

  static ServerOptions options_of(Space space) {
    ServerOptions options = manual_options();
    options.processor.space.space = space;
    if (space == Space::vector) options.processor.space.dimension = 3;
    options.http_events.ticks_max = 8;
    options.http_events.flush_us = 1'000;
    options.snapshots.burst = 1'000'000;
    return options;
  }

  RunningServer& server() { return server_; }
  protocol::Client& client() { return client_; }
  std::int64_t now_us() const { return tau_us_; }

  void put_stream() {
    const ReportWith with{.distance = true, .position = space_ != Space::vector, .tags = true};
    EXPECT_TRUE(client_.put_stream({.name = stream, .on = ReportOn::distance, .with = with}));
  }

  void move(test::Random& random) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t count = random.below(objects); count > 0; --count)
      ids.push_back(random.below(objects));
    update(ids, random);
    const std::vector<std::uint64_t> gone{random.below(objects)};
    const std::vector<std::int64_t> gone_us{tau_us_ + 1};
    if (random.chance(0.3)) {
      EXPECT_TRUE(client_.remove_objects({gone, gone_us}));
    }
    if (random.chance(0.5)) put_query(random);
    const std::vector<std::uint64_t> removed{random.below(queries)};
    if (random.chance(0.2)) {
      EXPECT_TRUE(client_.remove_queries({stream, removed}));
    }
  }

  void tick() { EXPECT_TRUE(client_.advance_tick(++tau_us_)); }

  void move_and_tick(test::Random& random) {
    move(random);
    tick();
  }

 private:
  static constexpr std::uint64_t objects = 40;
  static constexpr std::uint64_t queries = 6;

  void update(const std::vector<std::uint64_t>& ids, test::Random& random) {
    const std::vector<std::int64_t> times_us(ids.size(), tau_us_ + 1);
    std::vector<double> coordinates;
    std::vector<float> vectors;
    std::vector<std::uint32_t> tags;
    std::vector<Label> labels;
    std::vector<double> values;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Position place = random_place(random);
      coordinates.insert(coordinates.end(), place.begin(),
                         place.begin() + (space_ == Space::planar2 ? 2 : 3));
      for (const double component : place) vectors.push_back(static_cast<float>(component));
      tags.push_back(static_cast<std::uint32_t>(random.below(4)));
      labels.push_back(static_cast<Label>(random.below(3)));
      values.push_back(random.unit());
    }
    protocol::UpdateBatch batch;
    batch.ids = ids;
    batch.times_us = times_us;
    batch.tags = tags;
    batch.components = space_ == Space::planar2 ? 2 : 3;
    if (space_ == Space::vector) {
      batch.dimension = 3;
      batch.coordinates_f32 = vectors;
      batch.labels = labels;
      batch.values = values;
    } else {
      batch.coordinates = coordinates;
    }
    EXPECT_TRUE(client_.update(batch));
  }

  void put_query(test::Random& random) {
    protocol::QuerySpec query;
    query.id = QueryId{random.below(queries)};
    query.k = static_cast<std::uint32_t>(1 + random.below(5));
    if (random.chance(0.3)) {
      query.anchor = AnchorKind::every_object;
      query.subject.required = 1;
    } else if (random.chance(0.4)) {
      query.anchor = AnchorKind::follow;
      query.object = ObjectId{random.below(objects)};
    } else if (space_ == Space::vector) {
      for (const double component : random_place(random))
        query.vector.push_back(static_cast<float>(component));
    } else {
      query.position = random_place(random);
    }
    if (space_ == Space::vector) {
      query.vote = random.chance(0.5);
      if (random.chance(0.5)) query.regress = RegressionWeights::uniform;
    }
    if (random.chance(0.3)) query.tags.required = 2;
    EXPECT_TRUE(client_.put_queries({stream, {query}}));
  }

  Position random_place(test::Random& random) const {
    if (space_ == Space::wgs84) return {random.unit() * 2 - 1, random.unit() + 50, random.unit()};
    const double z = space_ == Space::planar2 ? 0 : random.unit() * 100;
    return {random.unit() * 100, random.unit() * 100, z};
  }

  Space space_;
  RunningServer server_;
  protocol::Client client_;
  std::int64_t tau_us_;
};

}  // namespace starling::stream
