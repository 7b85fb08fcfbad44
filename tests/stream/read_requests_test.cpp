// SPDX-License-Identifier: Apache-2.0
// Tests the requests that read tables page by page: ListStreams, ListQueries and GetObjects, in
// every space, while the tables change, and at their limits.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/wire/text_id.hpp"
#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;
using protocol::FoundObject;
using protocol::ObjectAnswers;
using protocol::QuerySpec;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr Rectangle everything{-unbounded, -unbounded, unbounded, unbounded};

ServerOptions options_of(Space space) {
  ServerOptions options = manual_options();
  options.processor.space.space = space;
  options.pages.burst = 1'000'000;  // no limit, because these tests are about other things
  return options;
}

double between(test::Random& random, double least, double most) {
  return least + (most - least) * random.unit();
}

std::vector<std::uint64_t> ids_of(const ObjectAnswers& answers) {
  std::vector<std::uint64_t> ids;
  for (const FoundObject& object : answers.objects) ids.push_back(to_number(object.id));
  return ids;
}

class ReadRequestsTest : public testing::Test {
 protected:
  ObjectAnswers objects(std::vector<std::uint64_t> ids) { return client.objects(ids).value(); }
  void update(std::uint64_t id, std::int64_t time_us, double x, double y) {
    Fixes fixes;
    fixes.add(id, time_us, x, y);
    ASSERT_TRUE(client.update(fixes.batch()));
  }

  RunningServer server{options_of(Space::planar2)};
  protocol::Client client = server.client();
};

TEST_F(ReadRequestsTest, AnUpdateIsReadAsSoonAsItIsAcknowledged) {
  update(7, 10, 3.004, -4);
  const auto first = objects({8, 7});
  ASSERT_EQ(first.objects.size(), 1u);
  EXPECT_EQ(first.objects[0].id, ObjectId{7});
  EXPECT_EQ(first.objects[0].time_us, 10);
  EXPECT_EQ(first.objects[0].position, (Position{3, -4, 0}));
  EXPECT_EQ(first.objects[0].tags, 0u);
  EXPECT_EQ(first.objects[0].name, "");
  EXPECT_THAT(first.missing, ElementsAre(ObjectId{8}));
  EXPECT_EQ(first.epoch, client.epoch());
  ASSERT_TRUE(client.advance_tick(1000));
  update(7, 20, 5, 6);
  EXPECT_EQ(objects({7}).objects.at(0).position, (Position{5, 6, 0}));
  EXPECT_EQ(ids_of(client.objects_in({5, 6, 5, 6}).value()), (std::vector<std::uint64_t>{7}));
  EXPECT_THAT(client.objects_in({3, -4, 3, -4}).value().objects, IsEmpty());
}

TEST_F(ReadRequestsTest, ARemovedOrFollowedButMissingObjectIsSaidToBeMissing) {
  update(7, 10, 3, 4);
  const std::uint64_t ids[] = {7};
  const std::int64_t times_us[] = {10};
  ASSERT_TRUE(client.remove_objects({ids, times_us}));
  ASSERT_TRUE(client.put_stream({.name = "s"}));
  ASSERT_TRUE(client.put_queries(
      {"s", {{.id = QueryId{1}, .anchor = AnchorKind::follow, .object = ObjectId{9}}}}));
  const auto answers = objects({7, 9, 7});
  EXPECT_THAT(answers.objects, IsEmpty());
  EXPECT_THAT(answers.missing, ElementsAre(ObjectId{7}, ObjectId{9}, ObjectId{7}));
  EXPECT_THAT(client.objects_in(everything).value().objects, IsEmpty());
}

TEST_F(ReadRequestsTest, TagsAndNamesComeWithTheirObjects) {
  const std::uint64_t bus = to_number(protocol::id_of_text("bus 7"));
  const std::uint64_t ids[] = {bus, 8};
  const std::int64_t times_us[] = {1, 2};
  const double coordinates[] = {1, 1, 2, 2};
  const std::uint32_t tags[] = {5, 6};
  const std::uint32_t set[] = {8, 0};
  const std::uint32_t clear[] = {1, 0};
  ASSERT_TRUE(
      client.update({.ids = ids, .times_us = times_us, .coordinates = coordinates, .tags = tags}));
  ASSERT_TRUE(client.update_tags({ids, times_us, set, clear}));
  ASSERT_TRUE(client.put_names({std::span(ids).first(1), {"bus 7"}}));
  const auto answers = objects({8, bus, 8});
  ASSERT_EQ(ids_of(answers), (std::vector<std::uint64_t>{8, bus, 8}));
  EXPECT_EQ(answers.objects[0].tags, 6u);
  EXPECT_EQ(answers.objects[0].name, "");
  EXPECT_EQ(answers.objects[1].tags, 12u);
  EXPECT_EQ(answers.objects[1].name, "bus 7");
}

TEST_F(ReadRequestsTest, MoreIdsThanAPageHoldsAreAskedForInParts) {
  Fixes fixes;
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = 0; id < 3000; ++id) {
    ids.push_back(id);
    if (id % 3 == 0) fixes.add(id, 1, static_cast<double>(id), 0);
  }
  ASSERT_TRUE(client.update(fixes.batch()));
  const auto answers = objects(ids);
  EXPECT_EQ(ids_of(answers), fixes.ids);
  EXPECT_EQ(answers.missing.size(), 2000u);
  EXPECT_THAT(objects({}).objects, IsEmpty());
}

/// Returns whether a rectangle contains a position, in plain arithmetic.
bool contains(const Rectangle& rectangle, const Position& position) {
  const auto [x, y, z] = position;
  const bool has_x = rectangle.x_min > rectangle.x_max
                         ? x >= rectangle.x_min || x <= rectangle.x_max
                         : x >= rectangle.x_min && x <= rectangle.x_max;
  return has_x && y >= rectangle.y_min && y <= rectangle.y_max;
}

/// Puts random objects, asks for each rectangle, and compares with all objects.
void expect_rectangles(Space space, double x_range, double y_range,
                       const std::vector<Rectangle>& rectangles) {
  RunningServer server(options_of(space));
  protocol::Client client = server.client();
  const std::uint64_t seed = test::seeds(1).front();
  SCOPED_TRACE(test::replay_hint(seed));
  test::Random random(seed);
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> times_us;
  std::vector<double> coordinates;
  const auto components = static_cast<std::uint8_t>(dimensions(space));
  for (std::uint64_t id = 1; id <= 4000; ++id) {
    ids.push_back(id);
    times_us.push_back(1);
    coordinates.push_back(between(random, -x_range, x_range));
    coordinates.push_back(between(random, -y_range, y_range));
    if (components == 3) coordinates.push_back(between(random, 0, 1000));
  }
  ASSERT_TRUE(client.update(
      {.ids = ids, .times_us = times_us, .components = components, .coordinates = coordinates}));
  const auto all = client.objects(ids).value();
  ASSERT_EQ(all.objects.size(), ids.size());
  for (const FoundObject& object : all.objects) {
    const std::size_t row = to_number(object.id) - 1;
    const double tolerance = space == Space::wgs84 ? 1e-3 : 0.00501;
    for (std::size_t i = 0; i < components; ++i)
      ASSERT_NEAR(object.position[i], coordinates[row * components + i],
                  space == Space::wgs84 && i == 2 ? 0.02 : tolerance);
  }
  for (const Rectangle& rectangle : rectangles) {
    std::vector<std::uint64_t> expected;
    for (const FoundObject& object : all.objects)
      if (contains(rectangle, object.position)) expected.push_back(to_number(object.id));
    EXPECT_FALSE(expected.empty());
    EXPECT_THAT(ids_of(client.objects_in(rectangle).value()), UnorderedElementsAreArray(expected));
  }
}

TEST(ReadRequests, ARectangleHasExactlyTheObjectsInItInEachSpace) {
  const std::vector<Rectangle> planar{
      {-500, -500, 500, 500}, {-1000, 10.004, 2000, 60}, everything, {0, -unbounded, unbounded, 0}};
  expect_rectangles(Space::planar2, 1000, 1000, planar);
  expect_rectangles(Space::planar3, 1000, 1000, planar);
  // No object is within a resolution of the poles or of the antimeridian.
  expect_rectangles(
      Space::wgs84, 179.9, 89,
      {{-10, -10, 30, 40}, {170, -60, -170, 60}, {-180, -90, 180, 90}, {120, 20, -120, 89}});
}

TEST(ReadRequests, AVectorIsReadByItsIdAndARectangleIsRefused) {
  ServerOptions options = options_of(Space::vector);
  options.processor.space.dimension = 3;
  RunningServer server(options);
  protocol::Client client = server.client();
  const std::uint64_t ids[] = {7};
  const std::int64_t times_us[] = {10};
  const float vectors[] = {1, 2, 3};
  const std::uint32_t tags[] = {5};
  ASSERT_TRUE(client.update({.ids = ids,
                             .times_us = times_us,
                             .coordinates_f32 = vectors,
                             .tags = tags,
                             .dimension = 3}));
  const auto answers = client.objects(std::array<std::uint64_t, 2>{8, 7}).value();
  ASSERT_EQ(ids_of(answers), (std::vector<std::uint64_t>{7}));
  EXPECT_EQ(answers.objects[0].time_us, 10);
  EXPECT_EQ(answers.objects[0].tags, 5u);
  EXPECT_THAT(answers.missing, ElementsAre(ObjectId{8}));
  const auto refused = client.objects_in({0, 0, 1, 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.problem().code, ErrorCode::bad_value);
  EXPECT_THAT(refused.problem().sentence, HasSubstr("ask for objects by their ids"));
}

TEST_F(ReadRequestsTest, AnObjectThatStaysInTheRectangleIsReadOnceWhilePagesAndObjectsChange) {
  const std::uint64_t seed = test::seeds(1).front();
  SCOPED_TRACE(test::replay_hint(seed));
  test::Random random(seed);
  constexpr std::uint64_t staying = 2000;
  Fixes all;
  for (std::uint64_t id = 0; id < 2 * staying; ++id)
    all.add(id, 1, between(random, -100, 100), between(random, -100, 100));
  ASSERT_TRUE(client.update(all.batch()));
  const Rectangle rectangle{-100, -100, 100, 100};
  std::map<std::uint64_t, int> seen;
  protocol::GetObjects request{.rectangle = rectangle, .rows_max = 100};
  std::int64_t time_us = 1;
  do {
    ObjectAnswers answers;
    request.page = client.get_objects_page(request, answers).value();
    EXPECT_LE(answers.objects.size(), 100u);
    for (const std::uint64_t id : ids_of(answers)) ++seen[id];
    // Objects below `staying` move within the rectangle; others leave it, come back or are removed.
    ++time_us;
    Fixes moves;
    for (int i = 0; i < 200; ++i) {
      moves.add(random.below(staying), time_us, between(random, -100, 100),
                between(random, -100, 100));
      moves.add(staying + random.below(staying), time_us, between(random, -300, 300), 0);
      moves.add(2 * staying + random.below(staying), time_us, 0, 0);
    }
    ASSERT_TRUE(client.update(moves.batch()));
    const std::uint64_t gone[] = {staying + random.below(staying)};
    const std::int64_t gone_us[] = {time_us};
    ASSERT_TRUE(client.remove_objects({gone, gone_us}));
    if (time_us % 8 == 0) {
      ASSERT_TRUE(client.advance_tick(time_us));
    }
  } while (request.page != 0);
  for (std::uint64_t id = 0; id < staying; ++id) EXPECT_EQ(seen[id], 1) << id;
}

TEST_F(ReadRequestsTest, APageLooksAtABoundedNumberOfObjects) {
  Fixes fixes;
  for (std::uint64_t id = 0; id < 50'000; ++id) fixes.add(id, 1, 0, 0);
  fixes.add(50'000, 1, 9, 9);
  ASSERT_TRUE(client.update(fixes.batch()));
  protocol::GetObjects request{.rectangle = Rectangle{8, 8, 10, 10}};
  ObjectAnswers answers;
  int pages = 0;
  do {
    const double walked_before = server.stat("starling_page_rows_total");
    request.page = client.get_objects_page(request, answers).value();
    const double walked = server.stat("starling_page_rows_total") - walked_before;
    EXPECT_GT(walked, 0);
    EXPECT_LE(walked, 8192);
    ++pages;
  } while (request.page != 0);
  EXPECT_EQ(pages, 7);
  EXPECT_EQ(ids_of(answers), (std::vector<std::uint64_t>{50'000}));
  EXPECT_GT(server.stat("starling_page_seconds_total"), 0);
}

TEST_F(ReadRequestsTest, APageBeyondTheEndIsEmptyAndTheLast) {
  update(7, 10, 3, 4);
  for (const std::uint64_t page : {std::uint64_t{1}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    ObjectAnswers answers;
    EXPECT_EQ(client.get_objects_page({.rectangle = everything, .page = page}, answers).value(),
              0u);
    EXPECT_THAT(answers.objects, IsEmpty());
  }
}

TEST_F(ReadRequestsTest, EachStreamIsListedWithWhatItReportsToWhom) {
  EXPECT_THAT(client.streams().value(), IsEmpty());
  ASSERT_TRUE(client.put_stream(
      {.name = "riders", .on = ReportOn::distance, .with = {.position = true, .tags = true}}));
  ASSERT_TRUE(client.put_stream(
      {.name = "drivers", .on = ReportOn::membership, .with = {.distance = false}}));
  ASSERT_TRUE(client.put_queries({"riders", {nearest_to(1, 2, 0, 0), nearest_to(2, 2, 0, 0)}}));
  protocol::Subscriber subscriber(server.context(), server.subscriber_options("riders"));
  ASSERT_TRUE(client.advance_tick(1000));
  ASSERT_TRUE(client.advance_tick(2000));
  ASSERT_TRUE(happens([&] {
    subscriber.poll(50);
    return subscriber.state().is_live() && client.streams().value().at(0).subscription_count == 1;
  }));
  const auto streams = client.streams().value();
  ASSERT_EQ(streams.size(), 2u);
  EXPECT_EQ(streams[0].name, "riders");
  EXPECT_EQ(streams[0].on, ReportOn::distance);
  EXPECT_EQ(streams[0].with, (ReportWith{true, true, true}));
  EXPECT_EQ(streams[0].query_count, 2u);
  EXPECT_EQ(streams[0].sequence, 2u);
  EXPECT_EQ(streams[1].name, "drivers");
  EXPECT_EQ(streams[1].on, ReportOn::membership);
  EXPECT_EQ(streams[1].with, (ReportWith{false, false, false}));
  EXPECT_EQ(streams[1].query_count, 0u);
  EXPECT_EQ(streams[1].subscription_count, 0u);
}

TEST_F(ReadRequestsTest, QueriesAreListedAsTheServerUsesThem) {
  ASSERT_TRUE(client.put_stream({.name = "riders"}));
  ASSERT_TRUE(client.put_stream({.name = "others"}));
  ASSERT_TRUE(client.advance_tick(1'000'000));
  const std::vector<QuerySpec> put{
      {.id = QueryId{5},
       .k = 3,
       .position = {1.5, -2.25, 0},
       .tags = {1, 2},
       .distance_max_m = 500.5,
       .age_max_us = 7'000'000,
       .lease_ms = 30'000},
      {.id = QueryId{6}, .k = 1, .anchor = AnchorKind::follow, .object = ObjectId{12}},
      {.id = QueryId{7}, .k = 2, .anchor = AnchorKind::every_object, .subject = {4, 8}}};
  ASSERT_EQ(client.put_queries({"riders", put}).value().accepted, 3u);
  ASSERT_EQ(client.put_queries({"others", {nearest_to(1, 2, 0, 0)}}).value().accepted, 1u);
  EXPECT_THAT(client.queries("riders").value(), UnorderedElementsAreArray(put));
  // The lease counts from tau 1 s, and 29.9995 s of it are left.
  ASSERT_TRUE(client.advance_tick(1'000'500));
  EXPECT_EQ(client.queries("riders").value().at(0).lease_ms, 30'000u);
  ASSERT_TRUE(client.advance_tick(30'999'999));
  EXPECT_EQ(client.queries("riders").value().at(0).lease_ms, 1u);
  ASSERT_TRUE(client.advance_tick(31'000'001));
  EXPECT_EQ(client.queries("riders").value().size(), 2u);
  const auto refused = client.queries("none");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.problem().code, ErrorCode::unknown_stream);
}

TEST(ReadRequests, QueriesOfVectorsAreListedWithTheirPreparedVectors) {
  for (const Metric metric : {Metric::l2, Metric::cosine, Metric::inner_product}) {
    ServerOptions options = options_of(Space::vector);
    options.processor.space.dimension = 2;
    options.processor.space.metric = metric;
    RunningServer server(options);
    protocol::Client client = server.client();
    ASSERT_TRUE(client.put_stream({.name = "s"}));
    ASSERT_TRUE(
        client.put_queries({"s",
                            {{.id = QueryId{1}, .vector = {3, 4}, .vote = true},
                             {.id = QueryId{2}, .vector = {3, 4}, .distance_max_m = 0.5}}}));
    const auto queries = client.queries("s").value();
    ASSERT_EQ(queries.size(), 2u);
    const bool has_unit_length = metric == Metric::cosine;
    EXPECT_EQ(queries[0].vector,
              has_unit_length ? (std::vector<float>{0.6f, 0.8f}) : (std::vector<float>{3, 4}));
    EXPECT_TRUE(queries[0].vote);
    EXPECT_EQ(queries[0].distance_max_m, QuerySpec::any_distance_m);
    EXPECT_LE(queries[1].distance_max_m, 0.5);
    EXPECT_NEAR(queries[1].distance_max_m, 0.5, 1e-6);
  }
}

TEST(ReadRequests, ADistanceThatNoInnerProductIsWithinIsListedAsMinusInfinity) {
  ServerOptions options = options_of(Space::vector);
  options.processor.space.dimension = 2;
  options.processor.space.metric = Metric::inner_product;
  RunningServer server(options);
  protocol::Client client = server.client();
  ASSERT_TRUE(client.put_stream({.name = "s"}));
  ASSERT_TRUE(client.put_queries({"s", {{.vector = {3, 4}, .distance_max_m = -1e300}}}));
  EXPECT_EQ(client.queries("s").value().at(0).distance_max_m, -unbounded);
}

/// Asks for pages, with requests that the client library does not send.
class PageReader {
 public:
  explicit PageReader(const RunningServer& server)
      : peer_(server.context(), server.endpoints().commands), session_(peer_.hello()) {}

  std::unique_ptr<RawReply> ask(const protocol::RequestBody& body) {
    return peer_.ask(encoded({.request_id = 1, .session = session_}, body));
  }

 private:
  RawPeer peer_;
  std::uint64_t session_;
};

TEST_F(ReadRequestsTest, PagesOfQueriesAndStreamsHaveAsManyRowsAsAreAskedFor) {
  std::vector<QuerySpec> queries;
  for (std::uint64_t id = 1; id <= 25; ++id) queries.push_back(nearest_to(id, 1, 0, 0));
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    ASSERT_TRUE(client.put_stream({.name = name}));
    ASSERT_TRUE(client.put_queries({name, queries}));
  }
  PageReader reader(server);
  std::set<std::uint64_t> ids;
  protocol::ListQueries asked{.stream = "c", .page = 0, .rows_max = 4};
  std::size_t rows = 0;
  do {
    const auto reply = reader.ask(asked);
    const auto& page = std::get<protocol::Queries>(reply->decoded.body);
    EXPECT_EQ(page.query_count, 25u);
    EXPECT_LE(page.queries.size(), 4u);
    rows += page.queries.size();
    for (const QuerySpec& query : page.queries) ids.insert(to_number(query.id));
    asked.page = page.next_page;
  } while (asked.page != 0);
  EXPECT_EQ(rows, 25u);
  EXPECT_EQ(ids.size(), 25u);

  std::vector<std::string> names;
  protocol::ListStreams request{.page = 0, .rows_max = 2};
  do {
    const auto reply = reader.ask(request);
    const auto& page = std::get<protocol::Streams>(reply->decoded.body);
    EXPECT_EQ(page.stream_count, 5u);
    EXPECT_LE(page.streams.size(), 2u);
    for (const protocol::StreamInfo& stream : page.streams) names.emplace_back(stream.name);
    request.page = page.next_page;
  } while (request.page != 0);
  EXPECT_THAT(names, ElementsAre("a", "b", "c", "d", "e"));
}

TEST(ReadRequests, ASessionThatAsksForTooManyPagesAtOnceIsToldWhenToAskAgain) {
  ServerOptions options = manual_options();
  options.pages = {.interval_us = 3'600'000'000, .burst = 2};
  RunningServer server(options);
  PageReader reader(server);
  EXPECT_EQ(reader.ask(protocol::ListStreams{})->error(), ErrorCode::none);
  EXPECT_EQ(reader.ask(protocol::GetObjects{.rectangle = everything})->error(), ErrorCode::none);
  const auto refused = reader.ask(protocol::ListStreams{});
  ASSERT_EQ(refused->error(), ErrorCode::busy);
  const auto& problem = std::get<protocol::ErrorReply>(refused->decoded.body).problem;
  EXPECT_EQ(problem.limit, (protocol::ReachedLimit{"session-pages-burst", 2}));
  EXPECT_THAT(problem.sentence, HasSubstr("ask again in "));
  PageReader other(server);
  EXPECT_EQ(other.ask(protocol::ListStreams{})->error(), ErrorCode::none);
}

}  // namespace
}  // namespace starling::stream
