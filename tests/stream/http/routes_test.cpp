// SPDX-License-Identifier: Apache-2.0
// Tests the table of routes: every route answers each status that it declares, docs/openapi.json
// describes the same paths, methods and statuses, and other paths and methods are refused.
#include "starling/stream/http/routes.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include "tests/stream/access/keys_folder.hpp"
#include "tests/stream/support/event_client.hpp"
#include "tests/stream/support/held_engine.hpp"
#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/stream/support/socket_client.hpp"

namespace starling::stream {
namespace {

using ::testing::HasSubstr;
using Fields = HttpClient::Fields;

/// A request that a prepared server accepts.
struct Sample {
  std::string target;
  std::string body;
};

Sample sample_of(const Route& route) {
  if (route.path == "/v1/objects") return {"/v1/objects", R"({"id":"1","x":1,"y":0,"time":1})"};
  if (route.path == "/v1/objects/{id}")
    return {route.method == "GET" ? "/v1/objects/1" : "/v1/objects/2", ""};
  if (route.path == "/v1/neighbors" && route.method == "POST")
    return {"/v1/neighbors", R"({"k":1,"x":0,"y":0})"};
  if (route.path == "/v1/neighbors") return {"/v1/neighbors?k=1&x=0&y=0", ""};
  if (route.path == "/v1/streams/{name}")
    return {route.method == "GET" ? "/v1/streams/riders" : "/v1/streams/cars",
            route.method == "PUT" ? "{}" : ""};
  if (route.path == "/v1/playback") return {"/v1/playback", route.method == "PUT" ? "{}" : ""};
  if (route.path == "/v1/streams/{name}/events") return {"/v1/streams/riders/events", ""};
  if (route.path == "/v1/streams/{name}/queries/{id}")
    return {"/v1/streams/riders/queries/2", route.method == "PUT" ? R"({"k":1,"x":0,"y":0})" : ""};
  return {std::string(route.path), ""};
}

unsigned status_of_text(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? static_cast<unsigned>(std::stoi(answer.substr(9, 3)))
                                         : 0;
}

/// Sends the sample with these fields instead of its own.
unsigned status_with(const RunningServer& server, const Route& route, const std::string& fields,
                     const std::string& body) {
  return status_of_text(http_exchange(
      server.endpoints().http, std::string(route.method) + " " + sample_of(route).target +
                                   " HTTP/1.1\r\nConnection: close\r\n" + fields + "\r\n" + body));
}

/// Returns sample_of(route), but with questions about an unknown object.
Sample unknown_sample_of(const Route& route) {
  if (route.path != "/v1/neighbors") return sample_of(route);
  if (route.method == "POST") return {"/v1/neighbors", R"({"k":1,"object":"9"})"};
  return {"/v1/neighbors?k=1&object=9", ""};
}

unsigned status_of(const RunningServer& server, const Route& route, const Sample& sample,
                   Fields fields = {}) {
  if (route.path == "/v1/ws") return SocketClient(server.endpoints().http).connect();
  if (route.has_no_end)
    return EventClient({.endpoint = server.endpoints().http, .stream = "riders"}).connect();
  HttpClient http(server.endpoints().http);
  if (route.body != RouteBody::none) fields.emplace_back("Content-Type", "application/json");
  return http.ask(route.method, sample.target, sample.body, fields).status;
}

unsigned status_of_sample(const RunningServer& server, const Route& route, Fields fields = {}) {
  return status_of(server, route, sample_of(route), std::move(fields));
}

/// A recording that only stores the changes that it gets.
class HeldRecording : public Recording {
 public:
  PlaybackState state() const override {
    const std::lock_guard lock(mutex_);
    return state_;
  }
  void change(const PlaybackChange& change) override {
    const std::lock_guard lock(mutex_);
    state_.time_us = change.time_us.value_or(state_.time_us);
    state_.speed = change.speed.value_or(state_.speed);
    state_.is_paused = change.is_paused.value_or(state_.is_paused);
  }

 private:
  mutable std::mutex mutex_;
  PlaybackState state_{.time_us = 5, .begin_us = 1, .end_us = 9};
};

/// A server with a stream, a query, an object, a recording and a tick. `adapt` changes its options.
class PreparedServer {
 public:
  explicit PreparedServer(const std::function<void(ServerOptions&)>& adapt = [](auto&) {})
      : server(options_with(adapt)) {
    HttpClient http(server.endpoints().http);
    EXPECT_EQ(http.put("/v1/streams/riders", "{}").status, 200u);
    EXPECT_TRUE(client.advance_tick(1000));
    EXPECT_EQ(http.put("/v1/streams/riders/queries/1", R"({"k":1,"x":0,"y":0})").status, 200u);
    EXPECT_EQ(http.post("/v1/objects", R"({"id":"1","x":1,"y":0,"time":1})").status, 200u);
  }

  RunningServer server;

 private:
  static ServerOptions options_with(const std::function<void(ServerOptions&)>& adapt) {
    ServerOptions options = manual_options();
    options.recording = std::make_shared<HeldRecording>();
    adapt(options);
    return options;
  }
  protocol::Client client = server.client();
};

unsigned status_of_unhealthy(const Route& route) {
  const auto control = std::make_shared<HeldEngine::Control>();
  control->error = "the device is gone";
  const RunningServer server(manual_options(), std::make_unique<HeldEngine>(control));
  auto client = server.client();
  EXPECT_FALSE(client.begin_tick(1000));
  EXPECT_TRUE(happens([&] { return control->finish(); }));
  EXPECT_FALSE(client.finish_tick());
  return status_of_sample(server, route);
}

unsigned status_without_a_place(const Route& route) {
  const PreparedServer full([](ServerOptions& options) {
    options.http_events.readers_max = 1;
    options.http_sockets.sockets_max = 1;
  });
  SocketClient open(full.server.endpoints().http);
  EXPECT_EQ(open.connect(), 101u);
  EventClient first({.endpoint = full.server.endpoints().http, .stream = "riders"});
  EXPECT_EQ(first.connect(), 200u);
  return status_of_sample(full.server, route);
}

unsigned status_without_a_session(const Route& route) {
  if (route.path == "/healthz") return status_of_unhealthy(route);
  if (route.has_no_end) return status_without_a_place(route);
  ServerOptions options = manual_options();
  options.sessions.sessions_max = 1;
  const RunningServer server(options);
  auto client = server.client();
  EXPECT_TRUE(client.advance_tick(1000));  // takes the only session
  return status_of_sample(server, route);
}

unsigned status_on_a_full_server(const Route& route) {
  const PreparedServer full([](ServerOptions& options) {
    options.processor.objects.objects_max = 1;
    options.processor.queries.queries_max = 1;
    options.processor.queries.streams_max = 1;
  });
  return status_of_sample(full.server, route);
}

/// A server with keys, and the principals "a" with the role stats and "b" with the role tick. It
/// answers the second wrong token with 429.
class KeyedServer {
 public:
  KeyedServer() {
    folder_.write(
        "[[principal]]\nname = \"a\"\nroles = [\"stats\"]\ntoken_sha256 = "
        "\"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb\"\n"
        "[[principal]]\nname = \"b\"\nroles = [\"tick\"]\ntoken_sha256 = "
        "\"3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d\"\n");
    ServerOptions options = manual_options();
    options.keys_path = folder_.path();
    options.http_wrong_tokens.burst = 1;
    server_ = std::make_unique<RunningServer>(options);
  }

  unsigned status(const Route& route, const std::string& token) const {
    const std::string endpoint = server_->endpoints().http;
    if (route.path == "/v1/ws")
      return SocketClient({.endpoint = endpoint, .protocols = token_protocols(token)}).connect();
    Fields fields;
    if (!token.empty()) fields.emplace_back("Authorization", "Bearer " + token);
    if (route.has_no_end)
      return EventClient({.endpoint = endpoint, .stream = "riders", .fields = fields}).connect();
    return status_of_sample(*server_, route, fields);
  }
  unsigned status_of_second_guess(const Route& route) const {
    EXPECT_EQ(status(route, "wrong"), 401u);
    return status(route, "wrong");
  }
  unsigned status_without_the_role(const Route& route) const {
    return status(route, route.access == RouteAccess::stats ? "b" : "a");
  }

 private:
  static std::string token_protocols(const std::string& token) {
    return token.empty() ? "" : "starling.v1, starling.bearer." + token;
  }

  KeysFolder folder_;
  std::unique_ptr<RunningServer> server_;
};

/// Makes `route` answer with `status`, and returns the status of its answer.
unsigned provoke(const RunningServer& server, const Route& route, unsigned status) {
  const std::string host = "Host: localhost\r\n";
  const std::string json = host + "Content-Type: application/json\r\n";
  switch (status) {
    case 101:
    case 200:
      return status_of_sample(server, route);
    case 400:
      return status_with(server, route,
                         json + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "{}");
    case 401:
      return KeyedServer().status(route, "");
    case 403:
      if (!route.is_guarded()) return KeyedServer().status_without_the_role(route);
      return status_with(server, route,
                         json + "Origin: http://evil.example\r\nContent-Length: 2\r\n", "{}");
    case 406:
      return status_of_sample(server, route, {{"Accept", "application/geo+json"}});
    case 411:
      return status_with(server, route, json, "");
    case 413:
      return status_with(server, route, json + "Content-Length: 99999999\r\n", "{}");
    case 415:
      return status_with(server, route, host + "Content-Type: text/plain\r\nContent-Length: 2\r\n",
                         "{}");
    case 417:
      return status_with(server, route, json + "Expect: a-miracle\r\nContent-Length: 2\r\n", "");
    case 421:
      return status_with(server, route, "Host: evil.example\r\n", "");
    case 426:
      return status_with(server, route, host, "");
    case 429:
      return KeyedServer().status_of_second_guess(route);
    case 431:
      return status_with(server, route, host + "Padding: " + std::string(9000, 'x') + "\r\n", "");
    case 503:
      return status_without_a_session(route);
    default:
      ADD_FAILURE() << "there is no way to provoke " << status;
      return 0;
  }
}

TEST(HttpRoutes, EveryRouteAnswersEachStatusThatItDeclares) {
  const PreparedServer prepared;
  for (const Route& route : http_routes())
    for (const unsigned status : route.statuses()) {
      if (status == 404) continue;  // the next test provokes 404
      EXPECT_EQ(provoke(prepared.server, route, status), status)
          << route.method << " " << route.path;
    }
}

TEST(HttpRoutes, StatusesFollowFromAccessAndBodyAndAscend) {
  using ::testing::ElementsAre;
  const auto statuses = [](Route route) { return route.statuses(); };
  EXPECT_THAT(statuses({.method = "GET", .path = "/", .access = RouteAccess::open}),
              ElementsAre(400, 413, 417, 421, 431));
  EXPECT_THAT(
      statuses(
          {.method = "GET", .path = "/", .access = RouteAccess::known, .own_statuses = {200, 404}}),
      ElementsAre(200, 400, 401, 404, 413, 417, 421, 429, 431));
  EXPECT_THAT(
      statuses({.method = "GET", .path = "/", .access = RouteAccess::known, .has_no_end = true}),
      ElementsAre(400, 401, 403, 413, 417, 421, 429, 431));
  EXPECT_THAT(statuses({.method = "GET", .path = "/", .access = RouteAccess::stats}),
              ElementsAre(400, 401, 403, 413, 417, 421, 429, 431));
  EXPECT_THAT(statuses({.method = "POST",
                        .path = "/",
                        .access = RouteAccess::publish,
                        .body = RouteBody::json,
                        .own_statuses = {200, 503}}),
              ElementsAre(200, 400, 401, 403, 411, 413, 415, 417, 421, 429, 431, 503));
}

TEST(HttpRoutes, AFullServerRefusesToAddAStreamOrQuery) {
  for (const Route& route : http_routes()) {
    if (route.method == "PUT" && route.path.starts_with("/v1/streams/")) {
      EXPECT_EQ(status_on_a_full_server(route), 429u) << route.path;
    }
  }
}

TEST(HttpRoutes, RoutesThatDeclareNotFoundAnswerItForWhatIsUnknown) {
  const RunningServer empty;
  for (const Route& route : http_routes()) {
    const bool declares = std::ranges::count(route.statuses(), 404u) == 1;
    EXPECT_EQ(declares, route.path == "/v1/streams/{name}/queries/{id}" ||
                            (route.path == "/v1/streams/{name}" && route.method != "PUT") ||
                            route.path == "/v1/streams/{name}/events" ||
                            route.path == "/v1/playback" || route.path == "/v1/neighbors" ||
                            (route.path == "/v1/objects/{id}" && route.method == "GET"))
        << route.method << route.path;
    if (declares) {
      EXPECT_EQ(status_of(empty, route, unknown_sample_of(route)), 404u) << route.method;
    }
  }
}

TEST(HttpRoutes, ARecordingIsMovedPausedAndSpedUp) {
  const PreparedServer prepared;
  HttpClient http(prepared.server.endpoints().http);
  const std::string path = "/v1/playback";
  EXPECT_EQ(http.get(path).body,
            "{\"time_us\":5,\"begin_us\":1,\"end_us\":9,\"speed\":1,\"paused\":false}\n");
  EXPECT_EQ(http.put(path, R"({"paused":true,"speed":2.5})").body,
            "{\"time_us\":5,\"begin_us\":1,\"end_us\":9,\"speed\":2.5,\"paused\":true}\n");
  EXPECT_EQ(http.put(path, R"({"time":"1970-01-01T00:00:01Z"})").status, 200u);
  EXPECT_THAT(http.get(path).body, HasSubstr("{\"time_us\":1000000,"));
  for (const char* wrong : {R"({"speed":0})", R"({"speed":"2"})", R"({"time":"noon"})",
                            R"({"paused":1})", R"({"rate":2})", "[]"})
    EXPECT_EQ(http.put(path, wrong).status, 400u) << wrong;
  EXPECT_THAT(http.get(path).body, HasSubstr("\"speed\":2.5,\"paused\":true"));
}

TEST(HttpRoutes, TheNetworkIsThatOfTheOptionsOrEmpty) {
  const RunningServer none;
  EXPECT_EQ(HttpClient(none.endpoints().http).get("/v1/network").body,
            "{\"name\":\"\",\"lines\":[]}\n");
  ServerOptions options = manual_options();
  options.network = std::make_shared<const std::string>("{\"name\":\"n\",\"lines\":[[0,0,1,1]]}\n");
  const RunningServer server(options);
  const HttpReply reply = HttpClient(server.endpoints().http).get("/v1/network");
  EXPECT_EQ(reply.body, *options.network);
  EXPECT_EQ(reply.fields.at("content-type"), "application/json");
  EXPECT_EQ(HttpClient(server.endpoints().http).get("/v1/network?part=1").status, 400u);
}

TEST(HttpRoutes, OtherPathsAndMethodsAreRefused) {
  const RunningServer server;
  HttpClient http(server.endpoints().http);
  for (const char* path : {"/v1", "/v1/objects/", "/v1/objects/1/2", "/v1//objects", "/healthz/",
                           "/v1/streams/", "/v1/streams//queries/1", "*", "v1/objects"}) {
    const HttpReply reply = http.get(path);
    EXPECT_EQ(reply.status, 404u) << path;
    EXPECT_EQ(reply.fields.at("content-type"), "application/problem+json") << path;
  }
  for (const auto& [method, path, allowed] :
       std::vector<std::array<std::string, 3>>{{"DELETE", "/metrics", "GET, HEAD"},
                                               {"OPTIONS", "/v1/objects", "POST"},
                                               {"PATCH", "/v1/streams/a/queries/1", "PUT, DELETE"},
                                               {"get", "/healthz", "GET, HEAD"}}) {
    const HttpReply reply = http.ask(method, path, {}, {});
    EXPECT_EQ(reply.status, 405u) << method;
    EXPECT_EQ(reply.fields.at("allow"), allowed) << method;
  }
}

TEST(HttpRoutes, StatsAreThoseOfTheWire) {
  PreparedServer prepared;
  const HttpReply reply = HttpClient(prepared.server.endpoints().http).get("/v1/stats");
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.parse(reply.body);
  EXPECT_EQ(root["counters"]["starling_objects"].get_double().value(), 1.0);
  EXPECT_EQ(root["counters"]["starling_rows_total{outcome=\"accepted\"}"].get_double().value(),
            prepared.server.stat("starling_rows_total{outcome=\"accepted\"}"));
}

using Described = std::set<std::string>;

/// Returns the element that a "$ref" of `element` names, or `element`.
simdjson::dom::element resolved(const simdjson::dom::element& root,
                                const simdjson::dom::element& element) {
  std::string_view reference;
  if (element["$ref"].get(reference)) return element;
  EXPECT_TRUE(reference.starts_with("#/")) << reference;
  return root.at_pointer(reference.substr(1));
}

/// Checks that the operation declares the path's parameters and describes each answer.
void check_operation(const simdjson::dom::element& root, std::string_view path,
                     const simdjson::dom::element& operation) {
  EXPECT_FALSE(operation["summary"].get_string().value().empty()) << path;
  simdjson::dom::array parameters;
  std::size_t in_path = 0;
  if (!operation["parameters"].get(parameters))
    for (const simdjson::dom::element each : parameters) {
      const simdjson::dom::element parameter = resolved(root, each);
      const std::string name(parameter["name"].get_string().value());
      EXPECT_FALSE(parameter["schema"].error()) << path << name;
      if (parameter["in"].get_string().value() != "path") continue;
      ++in_path;
      EXPECT_NE(path.find("{" + name + "}"), std::string_view::npos) << path << name;
    }
  EXPECT_EQ(in_path, static_cast<std::size_t>(std::ranges::count(path, '{'))) << path;
  for (const auto& [status, answer] : simdjson::dom::object(operation["responses"]))
    EXPECT_FALSE(resolved(root, answer)["description"].get_string().value().empty())
        << path << status;
}

TEST(HttpRoutes, TheOpenApiFileDescribesThem) {
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.load(STARLING_SOURCE_DIR "/docs/openapi.json");
  EXPECT_EQ(root["openapi"].get_string().value(), "3.0.3");
  EXPECT_EQ(root["info"]["title"].get_string().value(), "Starling");
  EXPECT_FALSE(root["info"]["version"].get_string().value().empty());
  Described described;
  for (const auto& [path, methods] : simdjson::dom::object(root["paths"]))
    for (const auto& [method, operation] : simdjson::dom::object(methods)) {
      check_operation(root, path, operation);
      for (const auto& [status, answer] : simdjson::dom::object(operation["responses"]))
        described.insert(std::string(method) + " " + std::string(path) + " " + std::string(status));
    }
  Described declared;
  for (const Route& route : http_routes())
    for (const unsigned status : route.statuses()) {
      std::string method(route.method);
      for (char& letter : method) letter = static_cast<char>(letter - 'A' + 'a');
      declared.insert(method + " " + std::string(route.path) + " " + std::to_string(status));
    }
  EXPECT_EQ(described, declared);
}

}  // namespace
}  // namespace starling::stream
