// SPDX-License-Identifier: Apache-2.0
// Restarts servers after rare events: requests so long that several threads apply them in slices, a
// clock that is set, and ticks that fail. The server must then hold the same as before.
#include <atomic>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/wire/text_id.hpp"
#include "tests/stream/journal/journal_world.hpp"
#include "tests/stream/journal/random_requests.hpp"
#include "tests/stream/journal/told_state.hpp"
#include "tests/support/ahead_engine.hpp"

namespace starling::stream {
namespace {

/// A session that numbers its requests, and that goes on after restarts.
class Voice {
 public:
  void connect(RunningServer& server) {
    peer_ = std::make_unique<RawPeer>(context_, server.endpoints().commands);
    const auto reply =
        peer_->ask(encoded({}, protocol::Hello{.client = "raw", .resume_session = session_}));
    if (reply == nullptr) throw NoReply();
    const auto& hello = std::get<protocol::HelloReply>(reply->decoded.body);
    EXPECT_EQ(hello.resumed, session_ != 0);
    EXPECT_EQ(hello.last_sequence, sequence_);
    session_ = hello.session;
    epoch_ = hello.epoch;
  }
  void send(const protocol::RequestBody& body) {
    peer_->send(encoded({.session = session_, .sequence = ++sequence_}, body));
  }
  /// Returns the next reply, without the times of ticks.
  std::string receive() {
    const auto reply = peer_->receive();
    if (reply == nullptr) throw NoReply();
    return told_reply(*reply, TickTimes::left_out);
  }
  std::string ask(const protocol::RequestBody& body) {
    send(body);
    return receive();
  }
  std::vector<std::string> state(std::uint64_t ids_end) {
    return told_state(
        [this](const protocol::RequestBody& body) {
          return peer_->ask(encoded({.session = session_}, body));
        },
        ids_end, nearest_to(0, 50, 0, 0));
  }
  std::uint64_t epoch() const { return epoch_; }

 private:
  zmq::context_t context_;
  std::unique_ptr<RawPeer> peer_;
  std::uint64_t session_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t epoch_ = 0;
};

class LongRequests : public testing::TestWithParam<unsigned> {
 protected:
  static constexpr std::uint64_t objects = 8'000;
  static constexpr std::uint64_t queries = 1'500;

  std::vector<std::uint64_t> some_ids(std::size_t count) {
    std::vector<std::uint64_t> ids(count);
    for (std::uint64_t& id : ids) id = random_.below(objects);
    return ids;
  }
  std::vector<std::int64_t> some_times(std::size_t count) {
    std::vector<std::int64_t> times_us(count);
    for (std::int64_t& time_us : times_us)
      time_us = tau_us_ - static_cast<std::int64_t>(random_.below(5000));
    return times_us;
  }
  void send_objects(std::size_t count) {
    const auto ids = some_ids(count);
    const auto times_us = some_times(count);
    std::vector<double> places(2 * count);
    for (double& place : places) place = static_cast<double>(random_.below(100'000)) / 100;
    voice_.send(protocol::UpdateBatch{.ids = ids, .times_us = times_us, .coordinates = places});
  }
  void send_tags(std::size_t count) {
    const auto ids = some_ids(count);
    const auto times_us = some_times(count);
    const std::vector<std::uint32_t> set(count, 1 + static_cast<std::uint32_t>(random_.below(3)));
    const std::vector<std::uint32_t> clear(count, static_cast<std::uint32_t>(random_.below(4)));
    voice_.send(protocol::UpdateTags{ids, times_us, set, clear});
  }
  void send_removals(std::size_t count) {
    const auto ids = some_ids(count);
    const auto times_us = some_times(count);
    voice_.send(protocol::RemoveObjects{ids, times_us});
  }
  void send_names(std::size_t count) {
    std::vector<std::string> texts;
    std::vector<std::uint64_t> ids;
    for (std::size_t i = 0; i < count; ++i) {
      texts.push_back(told_name(random_.below(objects)));
      ids.push_back(to_number(protocol::id_of_text(texts.back())));
    }
    voice_.send(protocol::PutNames{ids, {texts.begin(), texts.end()}});
  }
  void send_queries(const std::string& stream) {
    std::vector<protocol::QuerySpec> all;
    for (std::uint64_t id = 0; id < queries; ++id) {
      all.push_back(nearest_to(id, 3, static_cast<double>(random_.below(1000)), 500));
      if (random_.chance(0.3)) all.back().lease_ms = 1 + random_.below(20);
    }
    voice_.send(protocol::PutQueries{stream, all});
  }

  /// Sends long requests without waiting, and then a tick.
  void send_round() {
    tau_us_ += 5000;
    const std::string stream = "stream " + std::to_string(random_.below(2));
    voice_.send(protocol::PutStream{.name = stream});
    send_objects(150'000);
    send_queries(stream);
    send_tags(3'000);
    send_objects(2'000 + random_.below(10'000));
    send_objects(2'000 + random_.below(10'000));
    send_removals(2'000);
    send_names(1'500);
    if (random_.chance(0.5)) voice_.send(protocol::RemoveStream{"stream 0"});
    voice_.send(protocol::AdvanceTick{tau_us_});
    std::string reply;
    do reply = voice_.receive();
    while (!reply.starts_with("tick "));
    voice_.send(protocol::AdvanceTick{tau_us_});
    voice_.receive();
  }

  test::Random random_{GetParam()};
  Voice voice_;
  std::int64_t tau_us_ = 10'000;
};

TEST_P(LongRequests, AreWholeAfterARestart) {
  const JournalFolder folder;
  ServerOptions options = journal_options(folder.path());
  options.update_threads = GetParam();
  options.processor.objects.objects_max = 1u << 14;
  options.processor.objects.tombstone_ttl_us = 20'000;
  options.journal.segment_bytes = std::uint64_t{1} << 22;
  std::vector<std::string> before;
  for (int restarts = 0; restarts < 3; ++restarts) {
    RunningServer server(options);
    voice_.connect(server);
    const std::vector<std::string> now = voice_.state(objects);
    if (restarts > 0) {
      ASSERT_EQ(now, before);
    }
    send_round();
    before = voice_.state(objects);
  }
  ASSERT_GT(before.size(), 4000u);
}

INSTANTIATE_TEST_SUITE_P(Threads, LongRequests, testing::Values(1, 4));

/// Removes the numbers of ticks and messages, which go on while the clock stands still.
std::vector<std::string> without_tick_numbers(std::vector<std::string> state) {
  static const std::regex numbers("(tick|message) [0-9]+");
  for (std::string& line : state) line = std::regex_replace(line, numbers, "$1");
  return state;
}

TEST(MovedLeases, EndAfterARestartWhenTheyWouldHave) {
  constexpr std::int64_t lease_second_us = 1'000'000;
  const JournalFolder folder;
  std::atomic<std::int64_t> passed_us{0};
  std::atomic<std::int64_t> set_us{0};
  ServerOptions options = journal_options(folder.path());
  options.tick_period_us = lease_second_us / 100;
  options.clock_step_wait_us = lease_second_us;
  options.snapshots.burst = 100'000;  // the test asks for the state again and again
  options.boot_now_us = [&] { return passed_us.load(); };
  options.wall_now_us = [&] { return 1000 * lease_second_us + passed_us + set_us; };
  const auto put_query = [](Voice& voice, std::uint64_t id, std::uint64_t lease_s) {
    protocol::QuerySpec query = nearest_to(id, 2, 0, 0);
    query.lease_ms = 1000 * lease_s;
    EXPECT_EQ(voice.ask(protocol::PutQueries{"s", {query}}), "accepted 1, late 0, rejected 0");
  };
  Voice voice;
  std::vector<std::string> before;
  {
    RunningServer server(options);
    voice.connect(server);
    EXPECT_EQ(voice.ask(protocol::PutStream{.name = "s"}), "done");
    put_query(voice, 1, 60);
    for (int i = 1; i <= 2; ++i) {  // the clock is set twice
      set_us += 3600 * lease_second_us;
      ASSERT_TRUE(happens([&] { return server.stat("starling_clock_offset_seconds") == 3600; }));
      passed_us += 2 * lease_second_us;
      ASSERT_TRUE(happens([&] { return server.stat("starling_clock_offset_seconds") == 0; }));
      put_query(voice, 1 + static_cast<std::uint64_t>(i), 60);
    }
    before = voice.state(4);
  }
  RunningServer server(options);
  voice.connect(server);
  EXPECT_EQ(without_tick_numbers(voice.state(4)), without_tick_numbers(before));
  const auto query_count = [&] {
    std::size_t count = 0;
    for (const std::string& line : voice.state(4)) count += line.starts_with("  query ");
    return count;
  };
  EXPECT_EQ(query_count(), 3u);
  passed_us += 57 * lease_second_us;  // 61 s after the first, 59 s after the second
  EXPECT_TRUE(happens([&] { return query_count() == 2; }));
}

class FailedTicks : public testing::TestWithParam<std::uint64_t> {
 protected:
  /// Runs a random script, and returns the replies, and what the server holds after each fifth
  /// request. If `options` have a log, restarts the server at each tenth request.
  std::vector<std::string> run(ServerOptions options) {
    set_small_tables(options);
    if (options.journal.is_on()) options.journal.durability = Durability::sync;
    RandomRequests requests(GetParam());
    const auto shared = std::make_shared<test::AheadEngine::Shared>();
    for (const std::uint64_t tick : failing) shared->failing.insert(Tick{tick});
    Voice voice;
    std::vector<std::string> said;
    std::unique_ptr<RunningServer> server;
    std::uint64_t ticks = 0;
    for (int i = 0; i < 150; ++i) {
      // If the last tick before a restart had failed, the server would have a new epoch.
      const bool may_restart = options.journal.is_on() && !failing.contains(ticks);
      if (server == nullptr || (i % 10 == 0 && may_restart)) {
        server.reset();
        // The engine that runs the ticks again does not fail.
        std::erase_if(shared->failing, [&](Tick tick) { return to_number(tick) <= ticks; });
        server = std::make_unique<RunningServer>(
            options, std::make_unique<test::AheadEngine>(make_engine(), shared));
        voice.connect(*server);
      }
      const OwnedRequest request = requests.next();
      ticks += request.kind == OwnedRequest::Kind::tick;
      said.push_back(std::to_string(i) + ": " + voice.ask(request.body()));
      if (i % 5 != 0) continue;
      const auto state = voice.state(RandomRequests::objects);
      said.insert(said.end(), state.begin(), state.end());
    }
    return said;
  }

  const std::set<std::uint64_t> failing{2, 3, 7, 10, 15, 16, 17, 22};
};

TEST_P(FailedTicks, InTheMiddleOfALogChangeNothingAfterARestart) {
  const JournalFolder folder;
  const auto expected = run(manual_options());
  const auto said = run(journal_options(folder.path()));
  ASSERT_EQ(said.size(), expected.size());
  for (std::size_t i = 0; i < said.size(); ++i)
    ASSERT_EQ(said[i], expected[i]) << "line " << i << " of seed " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Seeds, FailedTicks, testing::Range<std::uint64_t>(1, 4));

TEST(FailedTick, AsTheLastOneLeavesTheOldListsAndTheNextTickReportsTheNewOnes) {
  const JournalFolder folder;
  ServerOptions options = journal_options(folder.path());
  set_small_tables(options);
  const auto shared = std::make_shared<test::AheadEngine::Shared>();
  shared->failing.insert(Tick{2});
  Voice voice;
  std::uint64_t epoch = 0;
  Fixes fixes;
  for (std::uint64_t id = 0; id < 9; ++id) fixes.add(id, 100, static_cast<double>(id), 0);
  {
    RunningServer server(options, std::make_unique<test::AheadEngine>(make_engine(), shared));
    voice.connect(server);
    epoch = voice.epoch();
    voice.ask(protocol::PutStream{.name = "s"});
    voice.ask(protocol::PutQueries{"s", {nearest_to(1, 2, 4, 0)}});
    voice.ask(protocol::AdvanceTick{1000});
    voice.ask(fixes.batch());
    EXPECT_TRUE(voice.ask(protocol::AdvanceTick{2000}).starts_with("error tick_failed"));
  }
  RunningServer server(options);
  voice.connect(server);
  EXPECT_EQ(voice.epoch(), epoch) << "subscribers hold the lists of the tick before";
  const auto list = testing::MatchesRegex("  list 1 vote .*, 4 distance 0, 3 distance 1");
  EXPECT_THAT(voice.state(9), testing::Not(testing::Contains(list)));
  EXPECT_EQ(voice.ask(protocol::AdvanceTick{3000}), "tick 3 tau 3000 objects 9 lists 1 removals 0");
  EXPECT_THAT(voice.state(9), testing::Contains(list));
}

}  // namespace
}  // namespace starling::stream
