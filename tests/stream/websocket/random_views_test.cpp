// SPDX-License-Identifier: Apache-2.0
// Tests random changes in each space. A client of a view holds the objects that GetObjects gives
// for the view's rectangle, with positions within half a quantum. Meanwhile objects enter, leave,
// are removed, expire and get slots of others, and the view changes.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/stream/support/running_server.hpp"
#include "tests/stream/support/socket_client.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

constexpr std::uint64_t object_ids = 60;
constexpr std::int64_t step_us = 1'000'000;

class RandomViews : public testing::TestWithParam<Space> {
 protected:
  static ServerOptions options() {
    ServerOptions options = manual_options();
    options.processor.space.space = GetParam();
    if (GetParam() != Space::wgs84) options.processor.space.origin = {1000, -500, 0};
    options.processor.objects.tombstone_ttl_us = step_us;  // so that slots are soon used again
    options.processor.objects.object_ttl_us = 20 * step_us;
    options.http_sockets.copied_rows_max = 15;  // so few that the table is sometimes read instead
    options.pages.burst = 1'000'000;
    return options;
  }

  RandomViews() : server(options()), client(server.client()), socket(server.endpoints().http) {}

  Position random_place(test::Random& random) const {
    if (GetParam() != Space::wgs84)
      return {1000 + random.unit() * 100, -500 + random.unit() * 100, random.unit() * 10};
    if (random.chance(0.1)) return {random.unit() * 10, random.chance(0.5) ? 90.0 : -90.0, 0};
    if (random.chance(0.1)) return {random.chance(0.5) ? 180.0 : -180.0, random.unit() * 80, 0};
    return {random.unit() * 360 - 180, random.unit() * 180 - 90, random.unit() * 1000};
  }

  Rectangle random_rectangle(test::Random& random) const {
    const bool is_globe = GetParam() == Space::wgs84;
    if (is_globe && random.chance(0.2)) return {-180, -90, 180, 90};
    const Position one = random_place(random);
    const Position two = random_place(random);
    Rectangle rectangle{one[0], std::min(one[1], two[1]), two[0], std::max(one[1], two[1])};
    if (!is_globe && rectangle.x_min > rectangle.x_max) std::swap(rectangle.x_min, rectangle.x_max);
    if (rectangle.x_min == rectangle.x_max) rectangle.x_max += rectangle.x_max > 0 ? -1e-3 : 1e-3;
    if (rectangle.y_min == rectangle.y_max) rectangle.y_min -= rectangle.y_min > 0 ? 1 : -1;
    if (rectangle.y_min > rectangle.y_max) std::swap(rectangle.y_min, rectangle.y_max);
    return rectangle;
  }

  void move(test::Random& random) {
    std::vector<std::uint64_t> ids;
    std::vector<double> coordinates;
    std::vector<std::uint32_t> tags;
    for (std::uint64_t count = random.below(object_ids / 2); count > 0; --count) {
      ids.push_back(random.below(object_ids));
      const Position place = random_place(random);
      coordinates.insert(coordinates.end(), place.begin(),
                         place.begin() + (GetParam() == Space::planar2 ? 2 : 3));
      tags.push_back(static_cast<std::uint32_t>(random.below(4)));
    }
    const std::vector<std::int64_t> times_us(ids.size(), tau_us + 1);
    protocol::UpdateBatch batch{.ids = ids, .times_us = times_us};
    batch.components = GetParam() == Space::planar2 ? 2 : 3;
    batch.coordinates = coordinates;
    batch.tags = tags;
    ASSERT_TRUE(client.update(batch));
    const std::vector<std::uint64_t> some{random.below(object_ids), random.below(object_ids)};
    const std::vector<std::int64_t> some_us(some.size(), tau_us + 2);
    if (random.chance(0.5)) {
      ASSERT_TRUE(client.remove_objects({some, some_us}));
    }
    const std::vector<std::uint32_t> set{1, 4};
    const std::vector<std::uint32_t> clear{2, 1};
    if (random.chance(0.3)) {
      ASSERT_TRUE(client.update_tags({some, some_us, set, clear}));
    }
  }

  void put_view(const Rectangle& rectangle, std::uint32_t objects_max) {
    const std::uint64_t request = socket.ask(protocol::View{.rectangle = rectangle,
                                                            .ticks_per_s = 1000,
                                                            .bytes_per_s = 1'000'000'000,
                                                            .objects_max = objects_max,
                                                            .raster_columns = 7,
                                                            .raster_rows = 5});
    held = HeldView(request);
    ASSERT_FALSE(socket.reply(request).empty());
  }

  void tick() {
    tau_us += step_us;
    const auto done = client.advance_tick(tau_us);
    ASSERT_TRUE(done);
    last_tick = done->tick;
  }

  void read_to_tick() {
    while (held.head().tick < last_tick || held.messages() == 0) {
      const SocketBytes message = socket.next_other();
      ASSERT_FALSE(message.empty());
      ASSERT_NO_FATAL_FAILURE(held.apply(message));
    }
  }

  void compare(const Rectangle& rectangle) {
    const auto answers = client.objects_in(rectangle);
    ASSERT_TRUE(answers);
    ASSERT_EQ(held.head().in_view, answers->objects.size());
    if (held.counts()) {
      ASSERT_EQ(std::accumulate(held.counts()->begin(), held.counts()->end(), std::uint64_t{0}),
                answers->objects.size());
      return;
    }
    ASSERT_EQ(held.objects().size(), answers->objects.size());
    std::map<std::uint64_t, HeldView::Object> by_id;
    for (const auto& [slot, object] : held.objects()) by_id.emplace(object.id, object);
    for (const protocol::FoundObject& expected : answers->objects) {
      const auto found = by_id.find(to_number(expected.id));
      ASSERT_NE(found, by_id.end()) << "object " << to_number(expected.id);
      EXPECT_EQ(found->second.tags, expected.tags);
      compare_places(found->second, expected.position, rectangle);
    }
    compared += answers->objects.size();
  }

  void compare_places(const HeldView::Object& object, const Position& expected,
                      const Rectangle& rectangle) const {
    constexpr double steps = 65'535;
    double width = rectangle.x_max - rectangle.x_min;
    if (width < 0) width += 360;
    const double height = rectangle.y_max - rectangle.y_min;
    // Half a quantum, and half of the resolution at an edge, which is rounded too.
    const double beyond = GetParam() == Space::wgs84 ? 1e-9 : 0.0051;
    const double x = rectangle.x_min + width * object.x / steps;
    const double y = rectangle.y_min + height * object.y / steps;
    EXPECT_NEAR(y, expected[1], height / steps / 2 + beyond);
    if (GetParam() != Space::wgs84) {
      EXPECT_NEAR(x, expected[0], width / steps / 2 + beyond);
    } else if (std::abs(expected[1]) < 89.999) {
      EXPECT_NEAR(std::remainder(x - expected[0], 360), 0, width / steps / 2 + beyond);
    }
  }

  RunningServer server;
  protocol::Client client;
  SocketClient socket;
  HeldView held;
  std::int64_t tau_us = 1'700'000'000'000'000;
  Tick last_tick{};
  std::size_t compared = 0;
};

TEST_P(RandomViews, HoldWhatGetObjectsGives) {
  std::uint64_t rasters = 0;
  for (const std::uint64_t seed : test::seeds(3)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    ASSERT_EQ(socket.connect(), 101u);
    Rectangle rectangle;
    bool has_view = false;
    for (int step = 0; step < 80; ++step) {
      if (!has_view || random.chance(0.1)) {
        rectangle = random_rectangle(random);
        ASSERT_NO_FATAL_FAILURE(put_view(rectangle, random.chance(0.5) ? 10 : 1000));
        has_view = true;
      }
      ASSERT_NO_FATAL_FAILURE(move(random));
      ASSERT_NO_FATAL_FAILURE(tick());
      if (random.chance(0.3)) continue;
      ASSERT_NO_FATAL_FAILURE(read_to_tick());
      ASSERT_NO_FATAL_FAILURE(compare(rectangle));
      if (held.counts()) ++rasters;
    }
  }
  EXPECT_GT(rasters, 5u);
  EXPECT_GT(compared, 500u);
}

INSTANTIATE_TEST_SUITE_P(Spaces, RandomViews,
                         testing::Values(Space::planar2, Space::planar3, Space::wgs84),
                         [](const auto& space) { return std::string(to_string(space.param)); });

}  // namespace
}  // namespace starling::stream
