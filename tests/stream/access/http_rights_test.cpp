// SPDX-License-Identifier: Apache-2.0
// Tests the matrix of rights over HTTP. Each role uses each route, on its own things and on things
// of others. The table here has the expected answers; a route that is missing in it fails the test.
// A refusal must change nothing and be in the audit log.
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/stream/http/routes.hpp"
#include "tests/stream/access/access_world.hpp"
#include "tests/stream/support/http_client.hpp"

namespace starling::stream {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// The world: the owner has made the streams "shared" and "secret", query 1500 in "shared", and the
/// object 7. The others may use streams "shared" and "mine*", and the ids 1000 to 1999.
struct HttpCell {
  std::set<std::string> roles;  ///< roles that may send it, without "admin"; empty for all roles
  std::string own;              ///< target of the principal's own things
  std::string own_body{};
  unsigned own_status = 200;
  std::string foreign{};  ///< target of others' things; empty if the route is about nothing that
                          ///< has an owner
  std::string foreign_body{};
  /// Status of the answer about others' things. 200: they are left out, or rejected by row.
  unsigned foreign_status = 403;
  bool is_rejected_by_row = false;
  std::string method{};  ///< method instead of the route's
};

const std::string place = R"({"k":1,"x":0,"y":0})";

const std::map<std::string, HttpCell>& http_matrix() {
  static const std::map<std::string, HttpCell> cells{
      {"GET /healthz", {{}, "/healthz"}},
      {"GET /metrics", {{"stats"}, "/metrics"}},
      {"POST /v1/objects",
       {.roles = {"publish"},
        .own = "/v1/objects",
        .own_body = R"({"id":"1100","x":1,"y":2,"time":10})",
        .foreign = "/v1/objects",
        .foreign_body = R"({"id":"7","x":1,"y":2,"time":10})",
        .foreign_status = 200,
        .is_rejected_by_row = true}},
      {"GET /v1/objects/{id}", {{"query"}, "/v1/objects/7"}},
      {"DELETE /v1/objects/{id}",
       {.roles = {"publish"}, .own = "/v1/objects/1100", .foreign = "/v1/objects/7"}},
      {"GET /v1/neighbors", {{"query"}, "/v1/neighbors?x=0&y=0&k=1"}},
      {"POST /v1/neighbors", {{"query"}, "/v1/neighbors", place}},
      {"GET /v1/streams",
       {.roles = {"query", "subscribe"},
        .own = "/v1/streams",
        .foreign = "/v1/streams",
        .foreign_status = 200}},
      {"GET /v1/streams/{name}",
       {.roles = {"subscribe"}, .own = "/v1/streams/shared", .foreign = "/v1/streams/secret"}},
      {"GET /v1/streams/{name}/events",
       {.roles = {"subscribe"},
        .own = "/v1/streams/shared/events",
        .foreign = "/v1/streams/secret/events",
        .method = "HEAD"}},
      {"PUT /v1/streams/{name}",
       {.roles = {"query"},
        .own = "/v1/streams/mine",
        .own_body = "{}",
        .foreign = "/v1/streams/shared",
        .foreign_body = R"({"on":"membership"})"}},
      {"DELETE /v1/streams/{name}",
       {.roles = {"query"}, .own = "/v1/streams/mine", .foreign = "/v1/streams/shared"}},
      {"PUT /v1/streams/{name}/queries/{id}",
       {.roles = {"query"},
        .own = "/v1/streams/mine/queries/1100",
        .own_body = place,
        .foreign = "/v1/streams/shared/queries/1500",
        .foreign_body = place}},
      {"DELETE /v1/streams/{name}/queries/{id}",
       {.roles = {"query"},
        .own = "/v1/streams/mine/queries/1100",
        .foreign = "/v1/streams/shared/queries/1500"}},
      {"GET /v1/ws", {.roles = {}, .own = "/v1/ws", .own_status = 426}},
      {"GET /v1/stats", {{"stats"}, "/v1/stats"}},
      // A server without a recording has no playback.
      {"GET /v1/playback", {.roles = {}, .own = "/v1/playback", .own_status = 404}},
      {"PUT /v1/playback",
       {.roles = {"tick"}, .own = "/v1/playback", .own_body = "{}", .own_status = 404}},
      {"GET /v1/network", {{}, "/v1/network"}},
  };
  return cells;
}

const std::vector<std::string>& all_roles() {
  static const std::vector<std::string> names{"publish", "query", "subscribe",
                                              "tick",    "stats", "admin"};
  return names;
}

AccessWorld new_http_world() {
  std::vector<Principal> principals{someone("owner", {Role::publish, Role::query, Role::subscribe}),
                                    someone("reader", {Role::admin})};
  for (const std::string& name : all_roles()) {
    principals.push_back(someone(name, {*role_of(name)}));
    if (name == "admin") continue;
    principals.back().streams = {"shared", "mine*"};
    principals.back().objects = {{1000, 1999}};
    principals.back().queries = {{1000, 1999}};
  }
  ServerOptions options = manual_options();
  options.http_wrong_tokens.burst = 1000;
  options.pages.burst = 1'000'000;
  return AccessWorld(std::move(principals), options);
}

class HttpRights : public ::testing::Test {
 protected:
  HttpRights() {
    const HttpClient::Fields fields = fields_of("owner");
    for (const std::string body :
         {R"({"id":"7","x":0,"y":0,"time":1})", R"({"id":"1500","x":1,"y":0,"time":1})"})
      EXPECT_EQ(http.ask("POST", "/v1/objects", body, fields).status, 200u);
    for (const std::string name : {"shared", "secret"})
      EXPECT_EQ(http.ask("PUT", "/v1/streams/" + name, "{}", fields).status, 200u);
    EXPECT_EQ(http.ask("PUT", "/v1/streams/shared/queries/1500", place, fields).status, 200u);
    reader.ask(protocol::AdvanceTick{5});
  }

  static HttpClient::Fields fields_of(const std::string& name) {
    return {{"Authorization", "Bearer " + AccessWorld::token_of(name)},
            {"Content-Type", "application/json"}};
  }

  std::string state() { return state_of(reader, {}); }

  void expect_refusal(const std::string& role, const HttpReply& reply, unsigned status,
                      const std::string& before) {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_EQ(state(), before);
    EXPECT_THAT(world.audited(), Contains(Field(&Audited::principal, role)));
  }

  void check(const std::string& role, const Route& route, bool is_own) {
    const std::string name = std::string(route.method) + " " + std::string(route.path);
    SCOPED_TRACE(role + " asks " + name + (is_own ? ", own" : ", foreign"));
    const HttpCell& cell = http_matrix().at(name);
    if (!is_own && cell.foreign.empty()) return;
    const std::string before = state();
    world.audited();
    const std::string method = cell.method.empty() ? std::string(route.method) : cell.method;
    const HttpReply reply = http.ask(method, is_own ? cell.own : cell.foreign,
                                     is_own ? cell.own_body : cell.foreign_body, fields_of(role));
    if (role != "admin" && !cell.roles.empty() && !cell.roles.contains(role)) {
      if (method != "HEAD") {
        EXPECT_THAT(reply.body, HasSubstr(" needs the role "));
      }
      return expect_refusal(role, reply, 403, before);
    }
    if (is_own || role == "admin") {
      EXPECT_EQ(reply.status, is_own ? cell.own_status : 200u) << reply.body;
      EXPECT_THAT(world.audited(), IsEmpty());
      return;
    }
    if (cell.is_rejected_by_row) {
      EXPECT_THAT(reply.body, HasSubstr("\"reason\":\"not_allowed\""));
    } else if (cell.foreign_status == 200) {
      EXPECT_EQ(reply.status, 200u);
      EXPECT_THAT(reply.body, Not(HasSubstr("secret")));
      EXPECT_EQ(state(), before);
      return;
    }
    expect_refusal(role, reply, cell.foreign_status, before);
  }

  AccessWorld world = new_http_world();
  Somebody reader{world, "reader"};
  HttpClient http{world.http()};
};

TEST_F(HttpRights, EveryRouteHasARow) {
  for (const Route& route : http_routes())
    EXPECT_TRUE(http_matrix().contains(std::string(route.method) + " " + std::string(route.path)))
        << "add a row for " << route.method << ' ' << route.path;
  EXPECT_EQ(http_matrix().size(), http_routes().size());
}

TEST_F(HttpRights, EveryCellIsAsTheTableSays) {
  for (const std::string& role : all_roles()) {
    for (const Route& route : http_routes())
      if (!route.is_change()) check(role, route, true);
    // In this order, each change finds what the changes before it made.
    for (const char* name :
         {"POST /v1/objects", "DELETE /v1/objects/{id}", "PUT /v1/streams/{name}",
          "PUT /v1/streams/{name}/queries/{id}", "DELETE /v1/streams/{name}/queries/{id}",
          "DELETE /v1/streams/{name}", "POST /v1/neighbors", "PUT /v1/playback"})
      for (const Route& route : http_routes())
        if (std::string(route.method) + " " + std::string(route.path) == name)
          check(role, route, true);
  }
  for (const std::string& role : all_roles())
    for (const Route& route : http_routes())
      if (role != "admin") check(role, route, false);
}

TEST_F(HttpRights, WithoutATokenOnlyHealthIsAnswered) {
  for (const Route& route : http_routes()) {
    SCOPED_TRACE(std::string(route.method) + " " + std::string(route.path));
    const HttpCell& cell =
        http_matrix().at(std::string(route.method) + " " + std::string(route.path));
    for (const std::string token : {"", "Bearer wrong", "Basic b3duZXI6", "token-of-owner"}) {
      const std::string before = state();
      const HttpReply reply =
          http.ask(route.method, cell.own, cell.own_body,
                   {{"Authorization", token}, {"Content-Type", "application/json"}});
      if (route.path == "/healthz") {
        EXPECT_EQ(reply.status, 200u);
        continue;
      }
      EXPECT_EQ(reply.status, 401u);
      EXPECT_THAT(reply.body, HasSubstr("Authorization: Bearer TOKEN"));
      EXPECT_EQ(reply.fields.at("www-authenticate"), "Bearer realm=\"starling\"");
      EXPECT_EQ(state(), before);
    }
  }
}

/// Returns the status of a request without a token to a server whose keys file has [anonymous].
unsigned anonymous_status(const std::string& trusted_proxy, const HttpClient::Fields& fields) {
  KeysFolder folder;
  folder.write("[anonymous]\nroles = [\"stats\"]\n");
  ServerOptions options = manual_options();
  options.keys_path = folder.path();
  options.http_trusted_proxy = trusted_proxy;
  RunningServer server(options);
  return HttpClient(server.endpoints().http).get("/metrics", fields).status;
}

TEST(AnonymousRights, AreForClientsOfThisMachineThatNoProxyHasSent) {
  EXPECT_EQ(anonymous_status("none", {}), 200u);
  for (const char* field : {"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Proto", "X-Real-IP",
                            "CF-Connecting-IP", "True-Client-IP"})
    EXPECT_EQ(anonymous_status("none", {{field, "127.0.0.1"}}), 401u) << field;
}

TEST(AnonymousRights, BehindATrustedProxyAreForClientsThatItNamesAndThatAreOfThisMachine) {
  EXPECT_EQ(anonymous_status("127.0.0.1", {{"X-Forwarded-For", "127.0.0.2"}}), 200u);
  EXPECT_EQ(anonymous_status("127.0.0.1", {{"X-Forwarded-For", "127.0.0.2, 192.0.2.1"}}), 401u);
  EXPECT_EQ(anonymous_status("127.0.0.1", {}), 401u) << "the proxy does not say for whom it asks";
}

}  // namespace
}  // namespace starling::stream
