// SPDX-License-Identifier: Apache-2.0
// Restarts servers that have a keys file and a log. Owners, rights and quotas go on, also if the
// keys file names the principals in another order or no longer names one of them. The number of a
// principal follows from this order, so each start gives other numbers.
#include <map>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "starling/protocol/wire/text_id.hpp"
#include "starling/stream/recovery/log_run.hpp"
#include "tests/stream/access/keys_folder.hpp"
#include "tests/stream/journal/journal_world.hpp"
#include "tests/stream/journal/told_state.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;
using protocol::RowReason;

const std::string common_rights = R"(roles = ["publish", "query", "subscribe", "tick"])";

/// A keyed server with a log that is restarted with other keys files.
class KeyedRestart : public testing::Test {
 protected:
  /// Starts the server with these principals, in this order. Stops the earlier server.
  void start(const std::vector<std::string>& names,
             const std::map<std::string, std::string>& more_members = {}) {
    server_.reset();
    std::string text;
    for (const std::string& name : names) {
      const auto more = more_members.find(name);
      text += principal_text(name, key_of(name).public_key,
                             (name == "root" ? R"(roles = ["admin"])" : common_rights) + "\n" +
                                 (more == more_members.end() ? "" : more->second));
    }
    keys_.write(text);
    ServerOptions options = journal_options(folder_.path());
    options.journal.durability = Durability::sync;
    options.keys_path = keys_.path();
    options.processor.queries.neighbors_max = neighbors_max_;
    options.processor.objects.tombstone_ttl_us = 1'000'000;
    server_ = std::make_unique<RunningServer>(options);
  }

  /// A session of a principal, which goes on after restarts.
  struct Caller {
    std::string name;
    std::uint64_t session = 0;
    std::uint64_t sequence = 0;
    std::unique_ptr<RawPeer> peer{};
  };

  /// Opens a session, or resumes the caller's session. Returns whether it was resumed.
  bool connect(Caller& caller) {
    const protocol::KeyPair& key = key_of(caller.name);
    caller.peer = std::make_unique<RawPeer>(
        context_, server_->endpoints().commands,
        RawKeys{protocol::to_z85(keys_.server.public_key), protocol::to_z85(key.public_key),
                protocol::to_z85(key.secret_key)});
    const auto reply = caller.peer->ask(
        encoded({}, protocol::Hello{.client = "raw", .resume_session = caller.session}));
    if (reply == nullptr) throw NoReply();
    const auto& hello = std::get<protocol::HelloReply>(reply->decoded.body);
    caller.session = hello.session;
    caller.sequence = hello.last_sequence;
    return hello.resumed;
  }
  Caller new_caller(const std::string& name) {
    Caller caller{.name = name};
    connect(caller);
    return caller;
  }

  static std::unique_ptr<RawReply> ask(Caller& caller, const protocol::RequestBody& body) {
    const bool is_sequenced = protocol::is_sequenced(body);
    auto reply = caller.peer->ask(encoded({.request_id = 1,
                                           .session = caller.session,
                                           .sequence = is_sequenced ? ++caller.sequence : 0},
                                          body));
    if (reply == nullptr) throw NoReply();
    return reply;
  }
  static std::string told(Caller& caller, const protocol::RequestBody& body) {
    return told_reply(*ask(caller, body));
  }
  /// Returns the reason why the first row was rejected, or none if it was accepted.
  static RowReason reason(Caller& caller, const protocol::RequestBody& body) {
    const auto reply = ask(caller, body);
    const auto* batch = std::get_if<protocol::BatchReply>(&reply->decoded.body);
    if (batch == nullptr) throw std::runtime_error(told_reply(*reply));
    return batch->first_rejected.empty() ? RowReason::none : batch->first_rejected[0].reason;
  }

  static std::vector<std::string> state(Caller& reader) {
    return told_state([&](const protocol::RequestBody& body) { return ask(reader, body); }, 20,
                      nearest_to(0, 5, 0, 0));
  }

  static protocol::RowReason put_object(Caller& caller, std::uint64_t id) {
    Fixes fixes;
    fixes.add(id, 100, static_cast<double>(id), 0);
    return reason(caller, fixes.batch());
  }
  static RowReason set_tags(Caller& caller, std::uint64_t id, std::int64_t time_us,
                            std::uint32_t bits) {
    const std::uint32_t none = 0;
    return reason(caller, protocol::UpdateTags{{&id, 1}, {&time_us, 1}, {&bits, 1}, {&none, 1}});
  }
  static RowReason put_name(Caller& caller, std::uint64_t index) {
    const std::string text = told_name(index);
    const std::uint64_t id = to_number(protocol::id_of_text(text));
    return reason(caller, protocol::PutNames{{&id, 1}, {text}});
  }
  static RowReason put_query(Caller& caller, const std::string& stream, std::uint64_t id) {
    return reason(caller, protocol::PutQueries{stream, {nearest_to(id, 2, 0, 0)}});
  }
  static RowReason remove_query(Caller& caller, const std::string& stream, std::uint64_t id) {
    return reason(caller, protocol::RemoveQueries{stream, {&id, 1}});
  }

  /// Makes a stream, a query, an object with tags, and a name for the caller.
  void fill(Caller& caller, std::uint64_t id) {
    EXPECT_EQ(ask(caller, protocol::PutStream{.name = caller.name})->error(), ErrorCode::none);
    EXPECT_EQ(put_object(caller, id), RowReason::none);
    EXPECT_EQ(set_tags(caller, id, 200, 4), RowReason::none);
    EXPECT_EQ(put_name(caller, id), RowReason::none);
    EXPECT_EQ(put_query(caller, caller.name, id), RowReason::none);
  }

  const protocol::KeyPair& key_of(const std::string& name) {
    const auto found = key_pairs_.find(name);
    if (found != key_pairs_.end()) return found->second;
    return key_pairs_.emplace(name, protocol::new_key_pair(name)).first->second;
  }

  zmq::context_t context_;  // ends after the callers' sockets
  KeysFolder keys_;
  JournalFolder folder_;
  std::map<std::string, protocol::KeyPair> key_pairs_;
  std::uint64_t neighbors_max_ = 10'000;
  std::unique_ptr<RunningServer> server_;
};

TEST_F(KeyedRestart, WithTheKeysInAnotherOrderLeavesEverythingToItsOwner) {
  start({"ann", "bob", "root"});
  Caller ann = new_caller("ann");
  Caller bob = new_caller("bob");
  fill(ann, 1);
  fill(bob, 2);
  EXPECT_EQ(ask(bob, protocol::AdvanceTick{1000})->error(), ErrorCode::none);
  Caller root = new_caller("root");
  const std::vector<std::string> before = state(root);
  const std::vector<std::vector<std::string>> orders{
      {"root", "bob", "ann"}, {"bob", "carl", "root", "ann"}, {"ann", "root", "bob"}};
  std::uint64_t id = 10;
  for (const auto& order : orders) {
    start(order);
    EXPECT_TRUE(connect(ann));
    EXPECT_TRUE(connect(bob));
    EXPECT_TRUE(connect(root));
    EXPECT_EQ(state(root), before);
    // Neither principal may change what the other one has, and each may change its own.
    EXPECT_EQ(ask(bob, protocol::PutStream{.name = "ann"})->error(), ErrorCode::not_allowed);
    EXPECT_EQ(ask(ann, protocol::RemoveStream{"bob"})->error(), ErrorCode::not_allowed);
    EXPECT_EQ(remove_query(ann, "bob", 2), RowReason::not_owner);
    EXPECT_EQ(set_tags(bob, 1, 300 + static_cast<std::int64_t>(id), 8), RowReason::not_owner);
    EXPECT_EQ(put_name(bob, 1), RowReason::not_owner);
    EXPECT_EQ(put_query(ann, "ann", 1), RowReason::none);
    EXPECT_EQ(put_query(bob, "bob", 2), RowReason::none);
    EXPECT_EQ(set_tags(ann, 1, 300 + static_cast<std::int64_t>(id), 4), RowReason::none);
    EXPECT_EQ(ask(ann, protocol::PutStream{.name = "ann"})->error(), ErrorCode::none);
    ++id;
  }
}

// The log names bob before ann, so a replay numbers them in another order than the keys file does.
TEST_F(KeyedRestart, RemovesOutgrownQueriesOfTheSameOwnerAsBefore) {
  neighbors_max_ = 20;
  start({"ann", "bob", "root"});
  Caller bob = new_caller("bob");
  Caller ann = new_caller("ann");
  for (Caller* caller : {&bob, &ann}) {
    EXPECT_EQ(ask(*caller, protocol::PutStream{.name = caller->name})->error(), ErrorCode::none);
    protocol::QuerySpec each = nearest_to(1, 3, 0, 0);
    each.anchor = AnchorKind::every_object;
    EXPECT_EQ(reason(*caller, protocol::PutQueries{caller->name, {each}}), RowReason::none);
  }
  for (std::uint64_t id = 1; id <= 4; ++id) EXPECT_EQ(put_object(bob, id), RowReason::none);
  Caller root = new_caller("root");
  EXPECT_EQ(ask(bob, protocol::AdvanceTick{1000})->error(), ErrorCode::none);
  const std::vector<std::string> before = state(root);
  for (const auto& order :
       {std::vector<std::string>{"ann", "bob", "root"}, {"bob", "ann", "root"}}) {
    start(order);
    EXPECT_TRUE(connect(root));
    EXPECT_EQ(state(root), before);
  }
  EXPECT_EQ(remove_query(root, "bob", 1), RowReason::none);
  EXPECT_EQ(remove_query(root, "ann", 1), RowReason::unknown_query);
}

TEST_F(KeyedRestart, KeepsToTheQuotasOfThenForQueriesThatHaveOutgrownThem) {
  const std::map<std::string, std::string> quotas{{"ann", "[principal.quota]\nneighbors = 20\n"}};
  start({"ann", "bob"}, quotas);
  Caller ann = new_caller("ann");
  Caller bob = new_caller("bob");
  for (Caller* caller : {&ann, &bob}) {
    EXPECT_EQ(ask(*caller, protocol::PutStream{.name = caller->name})->error(), ErrorCode::none);
    std::vector<protocol::QuerySpec> queries{nearest_to(1, 3, 0, 0), nearest_to(2, 2, 0, 0)};
    for (protocol::QuerySpec& each : queries) each.anchor = AnchorKind::every_object;
    EXPECT_EQ(reason(*caller, protocol::PutQueries{caller->name, queries}), RowReason::none);
  }
  for (std::uint64_t id = 1; id <= 5; ++id) EXPECT_EQ(put_object(bob, id), RowReason::none);
  const auto done = ask(ann, protocol::AdvanceTick{1000});
  EXPECT_EQ(std::get<protocol::TickDone>(done->decoded.body).list_count, 15u)
      << "ann has lost its query 1, and bob nothing";
  protocol::QuerySpec again = nearest_to(1, 3, 0, 0);
  again.anchor = AnchorKind::every_object;
  EXPECT_EQ(reason(ann, protocol::PutQueries{"ann", {again}}),
            RowReason::too_many_neighbors_of_principal);
  start({"bob", "root", "ann"});  // without quotas
  Caller root = new_caller("root");
  EXPECT_EQ(remove_query(root, "ann", 1), RowReason::unknown_query);
  EXPECT_EQ(remove_query(root, "ann", 2), RowReason::none);
  EXPECT_EQ(remove_query(root, "bob", 1), RowReason::none);
  server_.reset();
  const auto files = log::open_folder(folder_.path(), log::FolderUse::read);
  const LogRunCounts counts =
      LogRun(*files, {.make_engine = engine_for}).run({}, [](const RanTick&) { return true; });
  EXPECT_EQ(counts.equal, 1u) << "a replay reads no keys file";
}

TEST_F(KeyedRestart, DoesNotResumeTheSessionOfAnotherPrincipal) {
  start({"ann", "bob"});
  Caller ann = new_caller("ann");
  EXPECT_EQ(put_object(ann, 1), RowReason::none);
  start({"bob", "ann"});
  Caller thief{.name = "bob", .session = ann.session};
  EXPECT_FALSE(connect(thief));
  EXPECT_TRUE(connect(ann));
  EXPECT_EQ(ann.sequence, 1u);
}

TEST_F(KeyedRestart, KeepsWhatAPrincipalMadeThatTheKeysFileNoLongerHas) {
  start({"ann", "bob", "root"});
  Caller ann = new_caller("ann");
  fill(ann, 1);
  Caller bob = new_caller("bob");
  Caller root = new_caller("root");
  EXPECT_EQ(ask(bob, protocol::AdvanceTick{1000})->error(), ErrorCode::none);
  const std::vector<std::string> before = state(root);
  for (int restarts = 0; restarts < 2; ++restarts) {
    start({"bob", "root"});
    EXPECT_TRUE(connect(bob));
    EXPECT_TRUE(connect(root));
    EXPECT_EQ(state(root), before);
    EXPECT_EQ(ask(bob, protocol::PutStream{.name = "ann"})->error(), ErrorCode::not_allowed)
        << "nobody inherits it";
    EXPECT_EQ(remove_query(bob, "ann", 1), RowReason::not_owner);
  }
  EXPECT_EQ(ask(root, protocol::PutStream{.name = "ann"})->error(), ErrorCode::none);
  // ann comes back with a new key, and owns again what it made.
  key_pairs_.erase("ann");
  start({"root", "bob", "ann"});
  EXPECT_TRUE(connect(ann));
  EXPECT_EQ(ask(ann, protocol::PutStream{.name = "ann"})->error(), ErrorCode::none);
  EXPECT_EQ(remove_query(ann, "ann", 1), RowReason::none);
}

TEST_F(KeyedRestart, CountsWhatWasMadeBeforeForTheQuotas) {
  const std::map<std::string, std::string> quotas{
      {"ann", "[principal.quota]\nqueries = 2\nneighbors = 4\nstreams = 1\nnames = 2\n"}};
  start({"ann", "bob"}, quotas);
  Caller ann = new_caller("ann");
  fill(ann, 1);
  EXPECT_EQ(put_query(ann, "ann", 2), RowReason::none);
  EXPECT_EQ(put_name(ann, 2), RowReason::none);
  start({"bob", "ann"}, quotas);
  EXPECT_TRUE(connect(ann));
  EXPECT_NE(put_query(ann, "ann", 3), RowReason::none);
  EXPECT_NE(put_name(ann, 3), RowReason::none);
  EXPECT_EQ(ask(ann, protocol::PutStream{.name = "second"})->error(), ErrorCode::too_many_streams);
  // A removal after the restart makes room, even for things that were made before it.
  EXPECT_EQ(remove_query(ann, "ann", 2), RowReason::none);
  EXPECT_EQ(ask(ann, protocol::AdvanceTick{1000})->error(), ErrorCode::none);
  EXPECT_EQ(put_query(ann, "ann", 3), RowReason::none);
  EXPECT_EQ(ask(ann, protocol::RemoveStream{"ann"})->error(), ErrorCode::none);
  EXPECT_EQ(ask(ann, protocol::AdvanceTick{2000})->error(), ErrorCode::none);
  EXPECT_EQ(ask(ann, protocol::PutStream{.name = "second"})->error(), ErrorCode::none);
}

TEST_F(KeyedRestart, WithASmallerQuotaKeepsAllAndTakesNoMore) {
  start({"ann"});
  Caller ann = new_caller("ann");
  fill(ann, 1);
  for (std::uint64_t id = 2; id < 6; ++id) EXPECT_EQ(put_query(ann, "ann", id), RowReason::none);
  EXPECT_EQ(ask(ann, protocol::AdvanceTick{1000})->error(), ErrorCode::none);
  const std::vector<std::string> before = state(ann);
  start({"ann"}, {{"ann", "[principal.quota]\nqueries = 2\n"}});
  EXPECT_TRUE(connect(ann));
  EXPECT_EQ(state(ann), before);
  EXPECT_NE(put_query(ann, "ann", 6), RowReason::none);
}

TEST_F(KeyedRestart, AsksTheRightsThatTheKeysFileHasNow) {
  start({"ann"});
  Caller ann = new_caller("ann");
  EXPECT_EQ(put_object(ann, 1), RowReason::none);
  Caller other = new_caller("ann");
  EXPECT_EQ(ask(other, protocol::PutStream{.name = "kept"})->error(), ErrorCode::none);
  start({"ann"}, {{"ann", "objects = [\"5-9\"]\nstreams = [\"other*\"]\n"}});
  EXPECT_TRUE(connect(ann));
  EXPECT_TRUE(connect(other));
  EXPECT_EQ(put_object(ann, 1), RowReason::not_allowed);
  EXPECT_EQ(put_object(ann, 5), RowReason::none);
  EXPECT_EQ(ask(other, protocol::PutStream{.name = "kept"})->error(), ErrorCode::not_allowed);
}

TEST_F(KeyedRestart, WithoutTheKeysFileIsRefused) {
  start({"ann"});
  server_.reset();
  EXPECT_THROW(Server(journal_options(folder_.path()), make_engine()), std::runtime_error);
}

}  // namespace
}  // namespace starling::stream
