// SPDX-License-Identifier: Apache-2.0
// Asks a server about past ticks, which the server reads from its log. The answers must equal its
// answers at that time, also after restarts, and as far back as --journal-keep allows.
#include <future>
#include <map>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/journal/journal_world.hpp"
#include "tests/stream/support/raw_peer.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;
using testing::HasSubstr;

constexpr std::int64_t tick_us = 1000;
constexpr std::int64_t hour_us = 3'600'000'000;

std::vector<protocol::QuerySpec> questions() {
  protocol::QuerySpec filtered = nearest_to(0, 3, 50, 50);
  filtered.tags.required = 1;
  filtered.distance_max_m = 40;
  protocol::QuerySpec following = nearest_to(0, 4, 0, 0);
  following.anchor = AnchorKind::follow;
  following.object = ObjectId{3};
  protocol::QuerySpec alone = following;  // an object that is not always there, and never has a
                                          // neighbour
  alone.object = ObjectId{4};
  alone.distance_max_m = 0;
  alone.tags = {.required = 1, .forbidden = 1};
  return {nearest_to(0, 5, 10, 20), filtered, following, alone};
}

class PastQuestionsTest : public testing::Test {
 protected:
  ServerOptions options(std::int64_t keep_us) {
    ServerOptions options = journal_options(folder_.path());
    options.journal.segment_bytes = 8192;
    options.journal.make_engine = engine_for;
    options.journal.tail_bytes_max = 6000;
    options.journal.keep_us = keep_us;
    return options;
  }

  /// Runs ticks with random changes, and keeps the answers that the server gives in each tick.
  void run_ticks(protocol::Client& client, int count) {
    for (int i = 0; i < count; ++i) {
      tau_us_ += tick_us;
      Fixes fixes;
      for (std::uint64_t id = 0; id < 30; ++id)
        if (random_.chance(0.5)) fixes.add(id, tau_us_, place(), place());
      std::vector<std::uint32_t> tags;
      for (std::size_t row = 0; row < fixes.ids.size(); ++row)
        tags.push_back(static_cast<std::uint32_t>(random_.below(2)));
      protocol::UpdateBatch batch = fixes.batch();
      batch.tags = tags;
      ASSERT_TRUE(client.update(batch));
      if (random_.chance(0.2)) {
        const std::vector<std::uint64_t> ids{random_.below(30)};
        const std::vector<std::int64_t> times_us{tau_us_};
        ASSERT_TRUE(client.remove_objects({.ids = ids, .times_us = times_us}));
      }
      ASSERT_TRUE(client.advance_tick(tau_us_));
      given_[tau_us_] = client.get_neighbors({.questions = questions()}).value();
    }
  }

  double place() { return static_cast<double>(random_.below(100)); }

  void expect_same_answers(protocol::Client& client, std::int64_t from_us) {
    for (auto given = given_.lower_bound(from_us); given != given_.end(); ++given) {
      const std::int64_t at_us = given->first + random_.between(0, tick_us - 1);
      const auto answers = client.get_neighbors({.questions = questions(), .at_us = at_us});
      ASSERT_TRUE(answers) << answers.problem().sentence;
      EXPECT_EQ(answers->tick, given->second.tick);
      EXPECT_EQ(answers->tau_us, given->first);
      EXPECT_EQ(answers->epoch, given->second.epoch);
      EXPECT_EQ(answers->lists, given->second.lists) << "at " << at_us;
      EXPECT_EQ(answers->unknown, given->second.unknown) << "at " << at_us;
    }
  }

  std::size_t snapshots() const { return log::snapshot_names(*open_to_read()).size(); }
  std::unique_ptr<log::Files> open_to_read() const {
    return log::open_folder(folder_.path(), log::FolderUse::read);
  }

  JournalFolder folder_;
  test::Random random_{31};
  std::int64_t tau_us_ = 0;
  std::map<std::int64_t, protocol::NeighborAnswers> given_;  ///< the key is tau
};

TEST_F(PastQuestionsTest, AreAnsweredAsTheyWereAtTheTimeAlsoAfterRestarts) {
  for (std::size_t start = 0; start < 3; ++start) {
    RunningServer server(options(hour_us));
    auto client = server.client();
    run_ticks(client, 15);
    expect_same_answers(client, 0);
    EXPECT_TRUE(happens([&] { return snapshots() > start; }))
        << "snapshots that are not old enough stay";
  }
}

TEST_F(PastQuestionsTest, AreRefusedFromBeforeTheOldestSnapshot) {
  RunningServer server(options(0));
  auto client = server.client();
  ASSERT_TRUE(happens([&] {
    run_ticks(client, 1);
    return snapshots() == 1 && !log::has_first_record(*open_to_read());
  }));
  const auto refused = client.get_neighbors({.questions = questions(), .at_us = tick_us});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.problem().code, ErrorCode::bad_value);
  EXPECT_THAT(refused.problem().sentence, HasSubstr("its first one is of "));
  EXPECT_THAT(refused.problem().sentence, HasSubstr("--journal-keep"));
  const auto before_all = client.get_neighbors({.questions = questions(), .at_us = -1});
  EXPECT_FALSE(before_all);
  expect_same_answers(client, tau_us_);
}

TEST_F(PastQuestionsTest, AreRefusedWithoutALog) {
  RunningServer server(manual_options());
  const auto refused = server.client().get_neighbors({.questions = questions(), .at_us = tick_us});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.problem().code, ErrorCode::bad_value);
  EXPECT_THAT(refused.problem().sentence, HasSubstr("start it with --journal DIR"));
}

TEST_F(PastQuestionsTest, AreAnsweredOneAtATimeWhileTheServerGoesOn) {
  std::promise<void> go_on;
  std::atomic<int> engines = 0;
  ServerOptions held = options(0);
  held.journal.tail_bytes_max = std::uint64_t{1} << 30;  // no snapshots
  held.journal.make_engine = [&, released = go_on.get_future().share()](const SpaceOptions& space) {
    if (++engines > 1) released.wait();  // the first engine is made at the start, for its limits
    return engine_for(space);
  };
  RunningServer server(held);
  auto client = server.client();
  run_ticks(client, 2);
  auto past = std::async(std::launch::async, [&] {
    return server.client().get_neighbors({.questions = questions(), .at_us = tick_us});
  });
  struct Release {
    std::promise<void>& go_on;
    bool is_done = false;
    ~Release() {
      if (!is_done) go_on.set_value();
    }
  } release{go_on};
  ASSERT_TRUE(happens([&] { return engines > 1; }));
  RawPeer peer(server.context(), server.endpoints().commands);
  peer.send(encoded({.request_id = 1, .session = peer.hello()},
                    protocol::GetNeighbors{questions(), tick_us}));
  run_ticks(client, 2);
  EXPECT_EQ(engines, 2) << "the second question waits";
  go_on.set_value();
  release.is_done = true;
  const auto answers = past.get();
  ASSERT_TRUE(answers) << answers.problem().sentence;
  EXPECT_EQ(answers->lists, given_[tick_us].lists);
  const auto waited = peer.receive();
  ASSERT_NE(waited, nullptr);
  EXPECT_EQ(waited->error(), ErrorCode::none);
}

TEST_F(PastQuestionsTest, HaveAParameterOfHttp) {
  RunningServer server(options(hour_us));
  auto client = server.client();
  run_ticks(client, 4);
  const std::string target = "/v1/neighbors?k=1&x=0&y=0&at=";
  const std::string http = server.endpoints().http;
  EXPECT_THAT(http_get(http, target + "2500"), HasSubstr("\"time_us\":2000"));
  EXPECT_THAT(http_get(http, target + "1970-01-01T00:00:00.003Z"), HasSubstr("\"time_us\":3000"));
  EXPECT_THAT(http_get(http, target + "noon"), HasSubstr("at must be an ISO 8601 time"));
  EXPECT_THAT(http_get(http, target + "0"), HasSubstr("no tick at or before"));
}

TEST_F(PastQuestionsTest, HaveNoGeoJson) {
  ServerOptions geographic = manual_options();
  geographic.processor.space.space = Space::wgs84;
  RunningServer server(geographic);
  EXPECT_THAT(http_exchange(server.endpoints().http,
                            "GET /v1/neighbors?k=1&lon=1&lat=2&at=2500 HTTP/1.1\r\n"
                            "Host: localhost\r\nAccept: application/geo+json\r\n"
                            "Connection: close\r\n\r\n"),
              HasSubstr("at has no GeoJSON"));
}

}  // namespace
}  // namespace starling::stream
