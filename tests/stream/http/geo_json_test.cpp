// SPDX-License-Identifier: Apache-2.0
// Tests answers as GeoJSON (RFC 7946): objects and neighbours of a wgs84 server.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using ::testing::HasSubstr;

const HttpClient::Fields wants_geo{{"Accept", "application/geo+json"}};

class HttpGeoJson : public testing::Test {
 protected:
  static ServerOptions options() {
    ServerOptions options = manual_options();
    options.processor.space.space = Space::wgs84;
    options.limits.page_rows_max = 2;  // the neighbours' positions come in several pages
    return options;
  }
  void SetUp() override {
    ASSERT_EQ(http.post("/v1/objects", R"([{"id":"7","lon":2.25,"lat":48.5,"time":10,"tags":5},
                                           {"id":"taxi","lon":2.5,"lat":48.5,"alt":35,"time":20},
                                           {"id":"9","lon":-179.5,"lat":-89,"time":30}])")
                  .status,
              200u);
    ASSERT_TRUE(client.advance_tick(1000));
  }
  HttpReply geo(const std::string& target) { return http.get(target, wants_geo); }

  RunningServer server{options()};
  HttpClient http{server.endpoints().http};
  protocol::Client client = server.client();
  simdjson::dom::parser parser;
};

void expect_point(const simdjson::dom::element& feature, double longitude, double latitude,
                  double altitude) {
  EXPECT_EQ(feature["type"].get_string().value(), "Feature");
  EXPECT_EQ(feature["geometry"]["type"].get_string().value(), "Point");
  const auto at = feature["geometry"]["coordinates"].get_array().value();
  ASSERT_EQ(at.size(), 3u);
  EXPECT_NEAR(at.at(0).get_double().value(), longitude, 1e-6);
  EXPECT_NEAR(at.at(1).get_double().value(), latitude, 1e-6);
  EXPECT_NEAR(at.at(2).get_double().value(), altitude, 0.02);
}

TEST_F(HttpGeoJson, AnObjectIsAFeature) {
  const HttpReply reply = geo("/v1/objects/taxi");
  EXPECT_EQ(reply.status, 200u);
  EXPECT_EQ(reply.fields.at("content-type"), "application/geo+json");
  const simdjson::dom::element feature = parser.parse(reply.body);
  expect_point(feature, 2.5, 48.5, 35);
  const auto properties = feature["properties"];
  EXPECT_EQ(properties["id"].get_string().value(), feature["id"].get_string().value());
  EXPECT_EQ(properties["name"].get_string().value(), "taxi");
  EXPECT_EQ(properties["tags"].get_uint64().value(), 0u);
  EXPECT_EQ(properties["time_us"].get_int64().value(), 20);
  EXPECT_EQ(properties["distance_m"].error(), simdjson::NO_SUCH_FIELD);
  EXPECT_EQ(geo("/v1/objects/none").status, 404u);
  EXPECT_EQ(geo("/v1/objects/none").fields.at("content-type"), "application/problem+json");
}

TEST_F(HttpGeoJson, NeighborsAreAFeatureCollectionWithTheDistancesOfJson) {
  const std::string question = "/v1/neighbors?k=5&lon=2.25&lat=48.5";
  simdjson::dom::parser plain_parser;
  const std::string plain_body = http.get(question).body;
  const simdjson::dom::element plain = plain_parser.parse(plain_body);
  const HttpReply reply = geo(question);
  EXPECT_EQ(reply.status, 200u);
  const simdjson::dom::element root = parser.parse(reply.body);
  EXPECT_EQ(root["type"].get_string().value(), "FeatureCollection");
  EXPECT_EQ(root["tick"].get_uint64().value(), 1u);
  EXPECT_EQ(root["time_us"].get_int64().value(), 1000);
  const auto features = root["features"].get_array().value();
  ASSERT_EQ(features.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto properties = features.at(i)["properties"];
    const auto neighbor = plain["neighbors"].at(i);
    EXPECT_EQ(properties["id"].get_string().value(), neighbor["id"].get_string().value());
    EXPECT_EQ(properties["distance_m"].get_double().value(),
              neighbor["distance_m"].get_double().value());
  }
  expect_point(features.at(0), 2.25, 48.5, 0);
  EXPECT_EQ(features.at(0)["properties"]["tags"].get_uint64().value(), 5u);
  EXPECT_EQ(features.at(1)["properties"]["name"].get_string().value(), "taxi");
  expect_point(features.at(2), -179.5, -89, 0);
}

TEST_F(HttpGeoJson, AQuestionWithABodyIsAnsweredAlike) {
  EXPECT_EQ(http.ask("POST", "/v1/neighbors", R"({"k":2,"object":"7"})",
                     {{"Content-Type", "application/json"}, wants_geo[0]})
                .body,
            geo("/v1/neighbors?k=2&object=7").body);
  EXPECT_THAT(geo("/v1/neighbors?k=1&object=7&tags_required=1024").body,
              HasSubstr("\"features\":[]"));
  EXPECT_EQ(geo("/v1/neighbors?k=1&object=none").status, 404u);
}

TEST_F(HttpGeoJson, ANeighborThatIsGoneHasNoGeometry) {
  ASSERT_EQ(http.remove("/v1/objects/7").status, 200u);
  const HttpReply reply = geo("/v1/neighbors?k=1&lon=2.25&lat=48.5");
  EXPECT_THAT(reply.body, ::testing::AnyOf(HasSubstr("\"geometry\":null"),
                                           HasSubstr("\"geometry\":{\"type\":\"Point\"")));
  ASSERT_TRUE(client.advance_tick(2000));
  EXPECT_THAT(geo("/v1/neighbors?k=1&lon=2.25&lat=48.5").body, HasSubstr("\"name\":\"taxi\""));
}

TEST_F(HttpGeoJson, OtherClientsGetJson) {
  for (const char* accept : {"*/*", "application/json", "text/html,*/*;q=0.8"}) {
    const HttpReply reply = http.get("/v1/objects/7", {{"Accept", accept}});
    EXPECT_EQ(reply.fields.at("content-type"), "application/json") << accept;
  }
}

TEST(HttpGeoJsonElsewhere, IsNotAcceptable) {
  ServerOptions vectors = manual_options();
  vectors.processor.space = {.space = Space::vector, .dimension = 2};
  for (const ServerOptions& options : {manual_options(), vectors}) {
    const RunningServer server(options);
    HttpClient http(server.endpoints().http);
    for (const char* target : {"/v1/objects/7", "/v1/neighbors?k=1&object=7"}) {
      const HttpReply reply = http.get(target, wants_geo);
      EXPECT_EQ(reply.status, 406u) << target;
      EXPECT_THAT(reply.body, HasSubstr("accept application/json"));
    }
    // The server is ready to answer with JSON, but has no object 7.
    EXPECT_EQ(http.get("/v1/neighbors?k=1&object=7",
                       {{"Accept", "application/geo+json, application/json;q=0.5"}})
                  .status,
              404u);
  }
}

}  // namespace
}  // namespace starling::stream
