// SPDX-License-Identifier: Apache-2.0
// Tests that a log which was put back from a copy is another history. Clients are told what the
// copy lacks. After an ordinary restart, no client is told anything.
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/stream/journal/journal_world.hpp"

namespace starling::stream {
namespace {

namespace fs = std::filesystem;
using protocol::UpdateBatch;

/// A server whose log can be copied and put back, with a producer and a subscriber that outlive its
/// restarts.
class PutBack : public testing::Test {
 protected:
  void begin(ServerOptions options) {
    options_ = std::move(options);
    server_ = std::make_unique<RunningServer>(options_);
    options_.commands_endpoint = server_->endpoints().commands;
    options_.results_endpoint = server_->endpoints().results;
    producer_.emplace(context_, client_options());
    subscriber_ = std::make_unique<protocol::Subscriber>(
        context_,
        protocol::SubscriberOptions{.results = options_.results_endpoint,
                                    .client = client_options(),
                                    .subscription = {.stream = "pairs"},
                                    .retry_interval_ms = 1},
        protocol::SubscriptionHandlers{.lost = [this](std::uint64_t ticks) { lost_ += ticks; },
                                       .restarted = [this] { ++restarts_; }});
    ASSERT_TRUE(producer_->put_stream({.name = "pairs", .on = ReportOn::distance, .with = {}}));
    const std::vector queries{nearest_to(1, 2, 0, 0)};
    ASSERT_TRUE(producer_->put_queries({"pairs", queries}));
  }

  protocol::ClientOptions client_options() const {
    return {.commands = options_.commands_endpoint, .name = "test", .reconnect_after_ms = 300};
  }

  protocol::Result<protocol::BatchReply> move(std::uint64_t id, double x) {
    Fixes fixes;
    fixes.add(id, ++time_us_, x, 0);
    return producer_->update(fixes.batch());
  }
  void tick() { ASSERT_TRUE(producer_->advance_tick(++time_us_)); }

  void restart_after(const std::function<void()>& change) {
    server_.reset();
    change();
    server_ = std::make_unique<RunningServer>(options_);
    // Ticks come on request, so a missed tick would not be noticed. libzmq subscribes again within
    // poll().
    ASSERT_TRUE(happens([&] {
      subscriber_->poll(10);
      return server_->stat("starling_subscriptions") > 0;
    }));
  }

  /// Waits until the subscriber holds the server's last tick, and compares the lists.
  void expect_the_servers_lists() {
    const auto answers = producer_->get_neighbors({{nearest_to(1, 2, 0, 0)}}).value();
    ASSERT_TRUE(happens([&] {
      subscriber_->poll(10);
      const auto& state = subscriber_->state();
      return state.is_live() && state.held_at()->tick == answers.tick &&
             state.held_at()->epoch == answers.epoch;
    })) << subscriber_->obstacle();
    EXPECT_EQ(subscriber_->state().lists().at({.query = QueryId{1}}).neighbors,
              answers.lists[0].neighbors);
  }

  zmq::context_t context_;
  ServerOptions options_;
  std::unique_ptr<RunningServer> server_;
  std::optional<protocol::Client> producer_;
  std::unique_ptr<protocol::Subscriber> subscriber_;
  std::uint64_t lost_ = 0;
  std::uint64_t restarts_ = 0;
  std::int64_t time_us_ = 0;
};

/// A log on the real disk, copied as cp does.
class PutBackFolder : public PutBack {
 protected:
  void SetUp() override {
    begin(journal_options(folder_.path() + "/log"));
    copy_ = folder_.path() + "/copy";
  }
  void copy() { fs::copy(folder_.path() + "/log", copy_, fs::copy_options::recursive); }
  void put_back() {
    fs::remove_all(folder_.path() + "/log");
    fs::copy(copy_, folder_.path() + "/log", fs::copy_options::recursive);
  }

  JournalFolder folder_;
  std::string copy_;
};

/// A log on a disk that goes back in time as a whole. Only clients can notice that.
class PutBackDisk : public PutBack {
 protected:
  void SetUp() override { begin(journal_options(disk_)); }
  void copy() { image_ = disk_->files.image(); }
  void put_back() { disk_->files.put_back(image_, false); }

  std::shared_ptr<TestDisk> disk_ = std::make_shared<TestDisk>();
  log::SimulatedFiles::Image image_;
};

template <class Fixture>
class PutBackEither : public Fixture {};
using FolderAndDisk = testing::Types<PutBackFolder, PutBackDisk>;
TYPED_TEST_SUITE(PutBackEither, FolderAndDisk);

TYPED_TEST(PutBackEither, ASubscriberIsToldAndThenHoldsTheServersLists) {
  auto& test = *this;
  for (std::uint64_t id = 1; id <= 3; ++id) ASSERT_TRUE(test.move(id, static_cast<double>(id)));
  test.tick();
  test.expect_the_servers_lists();  // objects 1, 2
  test.copy();
  ASSERT_TRUE(test.move(2, 100));
  test.tick();
  test.expect_the_servers_lists();  // objects 1, 3
  test.restart_after([&] { test.put_back(); });
  test.producer_.emplace(test.context_, test.client_options());
  // The subscriber already has a tick with the number of the server's next tick, which changes no
  // list.
  test.tick();
  test.tick();
  test.expect_the_servers_lists();  // objects 1, 2
  EXPECT_EQ(test.restarts_, 1u);
}

TYPED_TEST(PutBackEither, AProducerIsToldWhichAcknowledgedRequestsAreMissing) {
  auto& test = *this;
  ASSERT_TRUE(test.move(1, 1));  // the third request
  test.tick();
  test.copy();
  ASSERT_TRUE(test.move(2, 2));
  ASSERT_TRUE(test.move(3, 3));
  test.restart_after([&] { test.put_back(); });
  const auto refused = test.move(4, 4);
  ASSERT_FALSE(refused);
  EXPECT_EQ(to_string(refused.problem().code), "log_put_back");
  EXPECT_NE(refused.problem().sentence.find("sequence numbers 5 to 6, which were acknowledged"),
            std::string::npos)
      << refused.problem().sentence;
  ASSERT_TRUE(test.move(4, 4)) << "the session goes on";
  EXPECT_EQ(test.producer_->objects(std::vector<std::uint64_t>{1, 2, 3, 4}).value().missing,
            (std::vector{ObjectId{2}, ObjectId{3}}));
}

TYPED_TEST(PutBackEither, AProducerWhoseSessionIsMissingIsTold) {
  auto& test = *this;
  test.copy();
  protocol::Client late(test.context_, test.client_options());
  Fixes fixes;
  fixes.add(7, 1, 0, 0);
  ASSERT_TRUE(late.update(fixes.batch()));
  test.restart_after([&] { test.put_back(); });
  const auto refused = late.update(fixes.batch());
  ASSERT_FALSE(refused);
  EXPECT_EQ(to_string(refused.problem().code), "log_put_back");
  EXPECT_TRUE(late.update(fixes.batch())) << "a new session goes on";
}

TYPED_TEST(PutBackEither, APostThatWaitsIsToldByTheTotals) {
  auto& test = *this;
  test.copy();
  ASSERT_TRUE(test.move(1, 1));
  test.restart_after([&] { test.put_back(); });
  Fixes fixes;
  fixes.add(2, 1, 0, 0);
  ASSERT_FALSE(test.producer_->post(fixes.batch()));
  const auto totals = test.producer_->flush();
  ASSERT_TRUE(totals.first_refusal);
  EXPECT_EQ(to_string(totals.first_refusal->code), "log_put_back");
  EXPECT_EQ(totals.accepted, 0u);
}

TYPED_TEST(PutBackEither, ACopyThatLacksNothingTellsProducersNothing) {
  auto& test = *this;
  ASSERT_TRUE(test.move(1, 1));
  test.copy();
  test.restart_after([&] { test.put_back(); });
  EXPECT_TRUE(test.move(2, 2));
}

TYPED_TEST(PutBackEither, AnOrdinaryRestartKeepsTheEpochAndTellsNobody) {
  auto& test = *this;
  const std::uint64_t epoch = test.producer_->epoch();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(test.move(1, i));
    ASSERT_TRUE(test.move(2, 2));
    test.tick();
    test.expect_the_servers_lists();
    test.restart_after([] {});
  }
  ASSERT_TRUE(test.move(3, 1));
  test.tick();
  test.expect_the_servers_lists();
  EXPECT_EQ(test.producer_->epoch(), epoch);
  EXPECT_EQ(test.restarts_, 0u);
}

TEST_F(PutBackFolder, TheEpochChangesSoThatOlderClientsSeeItToo) {
  const std::uint64_t epoch = producer_->epoch();
  copy();
  restart_after([&] { put_back(); });
  const std::uint64_t new_epoch = protocol::Client(context_, client_options()).epoch();
  EXPECT_NE(new_epoch, epoch);
  restart_after([] {});
  EXPECT_EQ(protocol::Client(context_, client_options()).epoch(), new_epoch)
      << "the copy has become the log";
}

TEST_F(PutBackFolder, AFolderThatMovesIsNoCopy) {
  const std::uint64_t epoch = producer_->epoch();
  const std::string moved = folder_.path() + "/moved";
  restart_after([&] {
    fs::rename(folder_.path() + "/log", moved);
    options_.journal.folder = moved;
  });
  EXPECT_EQ(protocol::Client(context_, client_options()).epoch(), epoch);
}

TEST_F(PutBackFolder, ACopyWithoutItsIdentityIsACopy) {
  const std::uint64_t epoch = producer_->epoch();
  restart_after([&] { fs::remove(folder_.path() + "/log/identity"); });
  EXPECT_NE(protocol::Client(context_, client_options()).epoch(), epoch);
}

TEST_F(PutBackFolder, ASegmentThatIsPutBackBesideTheIdentityIsACopy) {
  // rsync leaves a file of the same size and time alone.
  const std::uint64_t epoch = producer_->epoch();
  copy();
  restart_after([&] {
    const fs::path segment = fs::path(folder_.path()) / "log" / "00000000000000000001.log";
    fs::remove(segment);
    fs::copy(fs::path(copy_) / segment.filename(), segment);
  });
  EXPECT_NE(protocol::Client(context_, client_options()).epoch(), epoch);
}

}  // namespace
}  // namespace starling::stream
