// SPDX-License-Identifier: Apache-2.0
// Tests the matrix of rights. Each role sends each request of the schema, about its own things and
// about things of others. The table here has the expected results, and shares nothing with the
// product's table. A request of the schema that the table lacks fails the test. A refusal must
// change nothing and be in the audit log.
#include <array>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/wire/text_id.hpp"
#include "starling/stream/access/rights.hpp"
#include "tests/stream/access/access_world.hpp"
#include "wire/starling_generated.h"

namespace starling::stream {
namespace {

using protocol::ErrorCode;
using protocol::RequestBody;
using protocol::RowReason;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The world: the owner has made the streams "shared" and "secret", query 1500 in "shared", the tags
// of object 1500, the object 7 and the name "taxi". The others may use streams "shared" and
// "mine*", and the ids 1000 to 1999 and the names "taxi" and "mine".
constexpr std::uint64_t owners_id = 1500;
constexpr std::uint64_t outside_id = 7;
constexpr std::uint64_t own_id = 1100;
constexpr std::uint64_t admins_id = 1101;  ///< the object that the admin makes and removes

std::uint64_t id_of(std::string_view text) {
  return to_number(protocol::id_of_text(text));
}

/// The result of a request about things of others, if its sender has the role for it.
enum class Foreign {
  is_refused,  ///< Error not_allowed
  row_not_allowed,
  row_not_owner,
  unknown_session,
  new_session,  ///< Hello opens a new session instead
  hidden,       ///< an answer without the things of others
  nothing_is,   ///< the request is about nothing that has an owner
};

struct Cell {
  std::set<std::string> roles;  ///< roles that may send it, without "admin"; empty for all roles
  Foreign foreign = Foreign::nothing_is;
};

const std::map<std::string, Cell>& matrix() {
  static const std::map<std::string, Cell> cells{
      {"Hello", {{}, Foreign::new_session}},
      {"UpdateBatch", {{"publish"}, Foreign::row_not_allowed}},
      {"UpdateTags", {{"publish"}, Foreign::row_not_owner}},
      {"RemoveObjects", {{"publish"}, Foreign::row_not_allowed}},
      {"PutNames", {{"publish"}, Foreign::row_not_owner}},
      {"PutStream", {{"query"}, Foreign::is_refused}},
      {"PutQueries", {{"query"}, Foreign::row_not_owner}},
      {"RemoveQueries", {{"query"}, Foreign::row_not_owner}},
      {"GetSnapshot", {{"subscribe"}, Foreign::is_refused}},
      {"GetNeighbors", {{"query"}, Foreign::nothing_is}},
      {"GetStats", {{"stats"}, Foreign::nothing_is}},
      {"AdvanceTick", {{"tick"}, Foreign::nothing_is}},
      {"ReportReceived", {{"subscribe"}, Foreign::is_refused}},
      {"GetNames", {{"query", "subscribe"}, Foreign::nothing_is}},
      {"ListStreams", {{"query", "subscribe"}, Foreign::hidden}},
      {"ListQueries", {{"query", "subscribe"}, Foreign::is_refused}},
      {"RemoveStream", {{"query"}, Foreign::is_refused}},
      {"GetObjects", {{"query"}, Foreign::nothing_is}},
      {"EndSession", {{}, Foreign::unknown_session}},
  };
  return cells;
}

const std::vector<std::string>& everyone() {
  static const std::vector<std::string> names{"publish", "query", "subscribe",
                                              "tick",    "stats", "admin"};
  return names;
}

AccessWorld new_world() {
  std::vector<Principal> principals{someone("owner", {Role::publish, Role::query, Role::subscribe}),
                                    someone("reader", {Role::admin})};
  for (const std::string& name : everyone()) {
    principals.push_back(someone(name, {*role_of(name)}));
    if (name == "admin") continue;
    Principal& principal = principals.back();
    principal.streams = {"shared", "mine*"};
    principal.objects = {
        {1000, 1999}, {id_of("taxi"), id_of("taxi")}, {id_of("mine"), id_of("mine")}};
    principal.queries = {{1000, 1999}};
  }
  ServerOptions options = manual_options();
  options.pages.burst = 1'000'000;
  return AccessWorld(std::move(principals), options);
}

constexpr std::array owners{owners_id};
constexpr std::array outside{outside_id};
constexpr std::array own{own_id};
constexpr std::array admins{admins_id};
constexpr std::array time_one{std::int64_t{1}};
constexpr std::array time_two{std::int64_t{2}};
constexpr std::array somewhere{1.0, 2.0};
constexpr std::array one_bit{std::uint32_t{1}};
constexpr std::array no_bit{std::uint32_t{0}};
const std::array taxi{id_of("taxi")};
const std::array mine{id_of("mine")};

protocol::UpdateBatch update_of(std::span<const std::uint64_t> ids) {
  return {.ids = ids, .times_us = time_one, .coordinates = somewhere};
}

/// Returns the request, about the sender's own things or about things of others.
RequestBody request_of(const std::string& role, const std::string& name, bool is_own,
                       std::uint64_t owners_session) {
  const std::span<const std::uint64_t> own_object =
      role == "admin" ? std::span(admins) : std::span(own);
  const std::string_view stream = is_own ? "mine" : "shared";
  const std::string_view read_stream = is_own ? "shared" : "secret";
  const std::map<std::string, RequestBody> requests{
      {"Hello", protocol::Hello{.client = "raw", .resume_session = is_own ? 0 : owners_session}},
      {"UpdateBatch", update_of(is_own ? own_object : std::span<const std::uint64_t>(outside))},
      {"UpdateTags",
       protocol::UpdateTags{is_own ? own_object : std::span<const std::uint64_t>(owners), time_two,
                            no_bit, one_bit}},
      {"RemoveObjects",
       protocol::RemoveObjects{is_own ? own_object : std::span<const std::uint64_t>(outside),
                               time_two}},
      {"PutNames", protocol::PutNames{is_own ? mine : taxi, {is_own ? "mine" : "taxi"}}},
      {"PutStream", protocol::PutStream{.name = stream, .on = ReportOn::membership}},
      {"PutQueries",
       protocol::PutQueries{stream, {nearest_to(is_own ? own_id : owners_id, 3, 9, 9)}}},
      {"RemoveQueries", protocol::RemoveQueries{stream, is_own ? own : owners}},
      {"GetSnapshot", protocol::GetSnapshot{.stream = read_stream}},
      {"GetNeighbors", protocol::GetNeighbors{{nearest_to(0, 1, 0, 0)}}},
      {"GetStats", protocol::GetStats{}},
      {"AdvanceTick", protocol::AdvanceTick{10}},
      {"ReportReceived", protocol::ReportReceived{.stream = read_stream, .epoch = 1}},
      {"GetNames", protocol::GetNames{taxi}},
      {"ListStreams", protocol::ListStreams{}},
      {"ListQueries", protocol::ListQueries{.stream = read_stream}},
      {"RemoveStream", protocol::RemoveStream{stream}},
      {"GetObjects", protocol::GetObjects{.object_ids = outside}},
      {"EndSession", protocol::EndSession{}},
  };
  return requests.at(name);
}

void fill(Somebody& owner) {
  ASSERT_EQ(accepted(*owner.ask(update_of(outside))), 1U);
  ASSERT_EQ(accepted(*owner.ask(update_of(owners))), 1U);
  ASSERT_EQ(accepted(*owner.ask(protocol::UpdateTags{owners, time_one, one_bit, no_bit})), 1U);
  ASSERT_EQ(accepted(*owner.ask(protocol::PutNames{taxi, {"taxi"}})), 1U);
  for (const std::string_view name : {"shared", "secret"})
    ASSERT_EQ(owner.ask(protocol::PutStream{.name = name})->error(), ErrorCode::none);
  ASSERT_EQ(accepted(*owner.ask(protocol::PutQueries{"shared", {nearest_to(owners_id, 2, 0, 0)}})),
            1U);
}

class RightsMatrix : public ::testing::Test {
 protected:
  RightsMatrix() {
    fill(owner_);
    reader_.ask(protocol::AdvanceTick{5});
  }

  std::string state() { return state_of(reader_, {taxi[0], mine[0]}); }

  /// Sends the request, and compares its result with the table.
  void check(const std::string& role, Somebody& sender, const std::string& name, bool is_own) {
    SCOPED_TRACE(role + " sends " + name + (is_own ? ", own" : ", foreign"));
    const Cell& cell = matrix().at(name);
    const bool has_role = role == "admin" || cell.roles.empty() || cell.roles.contains(role);
    const std::string before = state();
    world_.audited();
    const bool is_of_other = name == "EndSession" && !is_own;
    const RequestBody request = request_of(role, name, is_own, owner_.session());
    const auto reply = is_of_other ? sender.ask_on(owner_.session(), request) : sender.ask(request);
    ASSERT_NE(reply, nullptr);
    const auto audited = world_.audited();
    if (!has_role) {
      EXPECT_EQ(reply->error(), ErrorCode::not_allowed);
      EXPECT_THAT(problem_of(*reply).sentence, HasSubstr("needs the role"));
      EXPECT_THAT(problem_of(*reply).sentence, HasSubstr("keys file"));
      return expect_refusal(role, name, audited, before);
    }
    const bool is_session =
        cell.foreign == Foreign::unknown_session || cell.foreign == Foreign::new_session;
    if (is_own || cell.foreign == Foreign::nothing_is || (role == "admin" && !is_session)) {
      EXPECT_EQ(reply->error(), ErrorCode::none) << problem_of(*reply).sentence;
      EXPECT_THAT(audited, IsEmpty());
      if (const auto* batch = std::get_if<protocol::BatchReply>(&reply->decoded.body)) {
        EXPECT_EQ(batch->accepted, 1U);
      }
      return;
    }
    expect_foreign(role, name, *reply, audited, before);
  }

  void expect_foreign(const std::string& role, const std::string& name, const RawReply& reply,
                      const std::vector<Audited>& audited, const std::string& before) {
    switch (matrix().at(name).foreign) {
      case Foreign::is_refused:
        EXPECT_EQ(reply.error(), ErrorCode::not_allowed);
        EXPECT_THAT(problem_of(reply).sentence, HasSubstr("keys file"));
        return expect_refusal(role, name, audited, before);
      case Foreign::row_not_allowed:
        EXPECT_EQ(rejected(reply, RowReason::not_allowed), 1U);
        return expect_refusal(role, name, audited, before);
      case Foreign::row_not_owner:
        EXPECT_EQ(rejected(reply, RowReason::not_owner), 1U);
        return expect_refusal(role, name, audited, before);
      case Foreign::unknown_session:
        EXPECT_EQ(reply.error(), ErrorCode::unknown_session);
        break;
      case Foreign::new_session: {
        const auto& hello = std::get<protocol::HelloReply>(reply.decoded.body);
        EXPECT_FALSE(hello.resumed);
        EXPECT_NE(hello.session, owner_.session());
        break;
      }
      case Foreign::hidden:
        for (const auto& stream : std::get<protocol::Streams>(reply.decoded.body).streams)
          EXPECT_NE(stream.name, "secret");
        break;
      case Foreign::nothing_is:
        break;
    }
    EXPECT_EQ(state(), before);
  }

  void expect_refusal(const std::string& role, const std::string& name,
                      const std::vector<Audited>& audited, const std::string& before) {
    EXPECT_EQ(state(), before);
    ASSERT_THAT(audited, SizeIs(1));
    EXPECT_EQ(audited[0].principal, role);
    EXPECT_EQ(audited[0].request, name);
  }

  AccessWorld world_ = new_world();
  Somebody owner_{world_, "owner"};
  Somebody reader_{world_, "reader"};
};

std::vector<std::string> requests_of_schema() {
  std::vector<std::string> names;
  for (int value = static_cast<int>(wire::RequestBody::MIN) + 1;
       value <= static_cast<int>(wire::RequestBody::MAX); ++value)
    names.emplace_back(wire::EnumNameRequestBody(static_cast<wire::RequestBody>(value)));
  return names;
}

TEST_F(RightsMatrix, EveryRequestOfTheSchemaHasARow) {
  for (const std::string& name : requests_of_schema())
    EXPECT_TRUE(matrix().contains(name)) << "add a row for " << name;
  EXPECT_EQ(matrix().size(), requests_of_schema().size());
}

TEST_F(RightsMatrix, EveryCellIsAsTheTableSays) {
  for (const std::string& role : everyone()) {
    for (const bool is_own : {true, false}) {
      // A session of its own for each pass; "mine" exists from PutStream to RemoveStream.
      Somebody sender(world_, role);
      for (const std::string& name : requests_of_schema()) {
        if (!matrix().contains(name)) continue;
        check(role, sender, name, is_own);
        // The requests that come later in the schema need a session, too.
        if (name == "EndSession" && is_own) sender.hello();
        // After one failure, every later cell fails too.
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(RightsMatrix, ARefusedRequestUsesUpItsNumberAndTheNextOneGoesOn) {
  Somebody sender(world_, "publish");
  EXPECT_EQ(sender.ask(protocol::PutStream{.name = "mine"})->error(), ErrorCode::not_allowed);
  EXPECT_EQ(accepted(*sender.ask(update_of(own))), 1U);
}

const std::map<std::string, std::set<std::string>>& socket_matrix() {
  static const std::map<std::string, std::set<std::string>> cells{
      {"View", {"query"}}, {"EndView", {}}, {"Follow", {"subscribe"}}, {"EndFollow", {}}};
  return cells;
}

TEST(SocketRights, EveryRequestOfAWebSocketNeedsTheRoleOfTheTable) {
  const std::map<std::string, protocol::SocketBody> requests{
      {"View", protocol::View{}},
      {"EndView", protocol::EndView{}},
      {"Follow", protocol::Follow{"s"}},
      {"EndFollow", protocol::EndFollow{"s"}}};
  for (int value = static_cast<int>(wire::SocketBody::MIN) + 1;
       value <= static_cast<int>(wire::SocketBody::MAX); ++value) {
    const std::string name = wire::EnumNameSocketBody(static_cast<wire::SocketBody>(value));
    ASSERT_TRUE(requests.contains(name)) << "add a row for " << name;
    for (const std::string& role : everyone()) {
      const Principal principal = someone(role, {*role_of(role)});
      const std::set<std::string>& roles = socket_matrix().at(name);
      const bool may = role == "admin" || roles.empty() || roles.contains(role);
      EXPECT_EQ(refusal_of(&principal, requests.at(name)).has_value(), !may) << role << ' ' << name;
    }
  }
}

}  // namespace
}  // namespace starling::stream
