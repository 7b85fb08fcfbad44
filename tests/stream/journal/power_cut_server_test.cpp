// SPDX-License-Identifier: Apache-2.0
// Cuts the power of a server with a log at random moments, and starts it again on what is left of
// the disk. The server must then have a prefix of the requests, with all acknowledged ones.
// Compares it with a server that got the same requests and never lost power. STARLING_POWER_CUTS is
// the number of cuts.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "tests/stream/journal/cut_disk.hpp"
#include "tests/stream/journal/ending_peer.hpp"
#include "tests/stream/journal/journal_world.hpp"
#include "tests/stream/journal/random_requests.hpp"
#include "tests/stream/journal/told_state.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

constexpr std::uint64_t cuts_default = 200;
constexpr int rounds_per_life = 40;
constexpr int requests_per_round_max = 40;
constexpr std::size_t requests_unanswered_max = 8;
constexpr std::size_t resends_kept_max = 64;

/// A server on a disk whose power may fail, and a connection to it.
class CutServer {
 public:
  /// Throws what the server's constructor throws.
  CutServer(zmq::context_t& context, const ServerOptions& options)
      : server_(options, make_engine()),
        peer_(context, server_.endpoints().commands, [this] { return has_ended_.load(); }),
        thread_([this] {
          try {
            server_.run();
          } catch (const std::exception&) {  // the log failed, because the power did
          }
          has_ended_ = true;
        }) {}
  ~CutServer() {
    server_.stop();
    thread_.join();
  }

  EndingPeer& peer() { return peer_; }

 private:
  Server server_;
  std::atomic<bool> has_ended_{false};
  EndingPeer peer_;
  std::thread thread_;
};

/// A request of one of the two sessions.
struct Sent {
  std::size_t session = 0;
  std::uint64_t sequence = 0;
  OwnedRequest request;
  std::optional<std::string> reply{};  ///< std::nullopt: it was not acknowledged
};

/// A server that lives through many power cuts.
class ServerLife {
 public:
  explicit ServerLife(std::uint64_t seed)
      : random_(seed), requests_(seed), disk_(seed), options_(manual_options()) {
    set_small_tables(options_);
    twin_ = std::make_unique<RunningServer>(options_);
    twin_peer_ = std::make_unique<RawPeer>(twin_->context(), twin_->endpoints().commands);
    for (std::uint64_t& session : twin_sessions_) session = twin_peer_->hello();
    options_.journal.folder = "simulated";
    options_.journal.segment_bytes = 4096;
    options_.journal.begin_bytes = seed % 2 == 0 ? 300 : 4096;
    options_.journal.durability = random_.chance(0.9) ? Durability::sync : Durability::tick;
    options_.journal.open = [this](const std::string&, log::FolderUse) { return disk_.open(); };
  }

  /// Runs the server until its power fails, or until it is stopped.
  void round() {
    if (random_.chance(0.8)) disk_.cut_at(1 + random_.below(random_.chance(0.2) ? 12 : 120));
    std::unique_ptr<CutServer> server;
    try {
      server = std::make_unique<CutServer>(twin_->context(), options_);
      verify(*server);
      send_some(*server);
    } catch (const NoReply&) {
      EXPECT_FALSE(disk_.has_power()) << "the server ends by itself";
    } catch (const std::exception& error) {
      EXPECT_FALSE(disk_.has_power()) << error.what();
      EXPECT_EQ(server, nullptr) << error.what();
    }
    if (random_.chance(0.8)) disk_.cut();
    server.reset();
    if (!disk_.has_power()) ++cuts_;
    disk_.restore();
  }

  std::uint64_t cuts() const { return cuts_; }
  std::uint64_t acknowledged() const { return acknowledged_; }
  std::uint64_t unacknowledged_found() const { return unacknowledged_found_; }

 private:
  static std::string frame_of(std::uint64_t session, const Sent& sent,
                              std::uint64_t request_id = 1) {
    return encoded({.request_id = request_id, .session = session, .sequence = sent.sequence},
                   sent.request.body());
  }

  /// Opens or resumes both sessions. Reads from the replies how many of the requests the server
  /// has.
  void say_hello(CutServer& server) {
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      const auto reply = server.peer().ask(
          encoded({}, protocol::Hello{.client = "raw", .resume_session = sessions_[i]}));
      const auto& hello = std::get<protocol::HelloReply>(reply->decoded.body);
      ASSERT_EQ(hello.resumed, sessions_[i] != 0) << "a session is lost";
      ASSERT_EQ(epoch_.value_or(hello.epoch), hello.epoch);
      ASSERT_GE(hello.last_sequence, found_[i]) << "what the last start has found is lost";
      epoch_ = hello.epoch;
      sessions_[i] = hello.session;
      found_[i] = hello.last_sequence;
    }
  }

  void verify(CutServer& server) {
    ASSERT_NO_FATAL_FAILURE(say_hello(server));
    while (!sent_.empty() && sent_.front().sequence <= found_[sent_.front().session]) {
      ASSERT_NO_FATAL_FAILURE(expect_like_twin(server, sent_.front()));
      history_.push_back(std::move(sent_.front()));
      sent_.pop_front();
      if (history_.size() > resends_kept_max) history_.pop_front();
    }
    for (const Sent& lost : sent_) {
      ASSERT_GT(lost.sequence, found_[lost.session]) << "the log has no prefix of what was sent";
      ASSERT_FALSE(lost.reply) << "an acknowledged request is lost";
    }
    sent_.clear();
    next_ = {found_[0] + 1, found_[1] + 1};
    for (int i = 0; i < 2 && !history_.empty(); ++i)
      ASSERT_NO_FATAL_FAILURE(expect_same_reply(server, history_[random_.below(history_.size())]));
    const auto ask = [&](const protocol::RequestBody& body) {
      return server.peer().ask(encoded({.session = sessions_[0]}, body));
    };
    const auto ask_twin = [&](const protocol::RequestBody& body) {
      return twin_peer_->ask(encoded({.session = twin_sessions_[0]}, body));
    };
    const auto question = nearest_to(0, 10, 0, 0);
    ASSERT_EQ(told_state(ask, RandomRequests::objects, question),
              told_state(ask_twin, RandomRequests::objects, question));
  }

  /// Gives the request to the twin, and sends it to the server again.
  void expect_like_twin(CutServer& server, Sent& sent) {
    if (!is_at_twin(sent)) {
      const auto twin_reply = twin_peer_->ask(frame_of(twin_sessions_[sent.session], sent));
      ASSERT_NE(twin_reply, nullptr);
      twin_reply_ = told_reply(*twin_reply, TickTimes::left_out);
      twin_has_[sent.session] = sent.sequence;
    }
    const auto again = server.peer().ask(frame_of(sessions_[sent.session], sent));
    ASSERT_EQ(told_reply(*again, TickTimes::left_out), twin_reply_) << "request " << sent.sequence;
    const std::string exact = told_reply(*again);
    if (sent.reply)
      ASSERT_EQ(*sent.reply, exact);
    else
      ++unacknowledged_found_;
    sent.reply = exact;
  }

  /// Returns whether the twin got the request. Only the last request before a cut can be at the
  /// twin and in sent_.
  bool is_at_twin(const Sent& sent) const { return sent.sequence <= twin_has_[sent.session]; }

  void expect_same_reply(CutServer& server, const Sent& sent) {
    const auto again = server.peer().ask(frame_of(sessions_[sent.session], sent));
    ASSERT_EQ(told_reply(*again), sent.reply) << "request " << sent.sequence;
  }

  void send_some(CutServer& server) {
    if (testing::Test::HasFailure()) return;
    std::size_t answered = 0;
    // The reply to a tick may come after the replies to later requests.
    const auto take_replies = [&](std::size_t unanswered_max) {
      while (sent_.size() - answered > unanswered_max) {
        const auto reply = server.peer().receive();
        Sent& sent = sent_.at(reply->decoded.head.request_id - 1);
        ASSERT_FALSE(sent.reply) << "a request has two replies";
        sent.reply = told_reply(*reply);
        ++answered;
        ++acknowledged_;
      }
    };
    bool is_tick_under_way = false;
    for (std::uint64_t i = random_.below(requests_per_round_max); i > 0; --i) {
      const std::size_t session = random_.below(2);
      Sent sent{.session = session, .sequence = next_[session], .request = requests_.next()};
      const bool is_tick = sent.request.kind == OwnedRequest::Kind::tick;
      const bool must_wait = is_tick_under_way && !sent.request.may_follow_a_tick();
      ASSERT_NO_FATAL_FAILURE(take_replies(must_wait ? 0 : random_.below(requests_unanswered_max)));
      is_tick_under_way = is_tick || (is_tick_under_way && !must_wait);
      ++next_[session];
      sent_.push_back(std::move(sent));
      server.peer().send(frame_of(sessions_[session], sent_.back(), sent_.size()));
    }
    ASSERT_NO_FATAL_FAILURE(take_replies(random_.below(requests_unanswered_max)));
  }

  test::Random random_;
  RandomRequests requests_;
  CutDisk disk_;
  ServerOptions options_;
  std::unique_ptr<RunningServer> twin_;
  std::unique_ptr<RawPeer> twin_peer_;
  std::array<std::uint64_t, 2> twin_sessions_{};
  std::array<std::uint64_t, 2> twin_has_{};  ///< the last numbers that the twin got
  std::string twin_reply_;
  std::array<std::uint64_t, 2> sessions_{};
  std::array<std::uint64_t, 2> found_{};
  std::array<std::uint64_t, 2> next_{1, 1};
  std::optional<std::uint64_t> epoch_;
  std::deque<Sent> sent_;     ///< requests sent since the last start, in order
  std::deque<Sent> history_;  ///< requests that the server has
  std::uint64_t cuts_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t unacknowledged_found_ = 0;
};

TEST(ServerPowerCuts, LeaveAPrefixOfWhatWasSentWithAllThatWasAcknowledged) {
  const std::uint64_t cuts_wanted =
      test::number_in_environment("STARLING_POWER_CUTS", cuts_default);
  const auto since = std::chrono::steady_clock::now();
  std::uint64_t cuts = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t unacknowledged_found = 0;
  const std::uint64_t first_seed = test::seeds(1).front();
  for (std::uint64_t seed = first_seed; cuts < cuts_wanted; ++seed) {
    SCOPED_TRACE(test::replay_hint(seed));
    ServerLife life(seed);
    for (int i = 0; i < rounds_per_life && cuts + life.cuts() < cuts_wanted; ++i) {
      life.round();
      ASSERT_FALSE(testing::Test::HasFailure()) << "in round " << i;
    }
    cuts += life.cuts();
    acknowledged += life.acknowledged();
    unacknowledged_found += life.unacknowledged_found();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - since;
  std::printf(
      "%llu power cuts in %.1f s; %llu requests were acknowledged and found, and %llu were found "
      "without an acknowledgement\n",
      static_cast<unsigned long long>(cuts), took.count(),
      static_cast<unsigned long long>(acknowledged),
      static_cast<unsigned long long>(unacknowledged_found));
}

}  // namespace
}  // namespace starling::stream
