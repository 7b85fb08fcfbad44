// SPDX-License-Identifier: Apache-2.0
// Copies the log of a program under load with `journal backup` at random moments, and kills the
// program. Starts it again from the copy, after `journal restore`, or from the log that it had.
// Only a client that has replies to requests which the log lacks must be told so. STARLING_BACKUPS
// is the number of copies, and STARLING_SEED the seed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "starling/log/reader.hpp"
#include "starling/log/snapshot.hpp"
#include "starling/log/system_files.hpp"
#include "starling/stream/journal/record_codec.hpp"
#include "tests/stream/journal/journal_world.hpp"
#include "tests/stream/support/program.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

namespace fs = std::filesystem;

/// Returns the last tick that has begun in a log.
Tick last_tick_of(const std::string& folder) {
  const auto files = log::open_folder(folder, log::FolderUse::read);
  Tick last{};
  log::read_log(
      *files,
      [&](const log::Group& group) {
        for (const log::Record& record : group.records)
          if (record.type == record_type::tick_begun)
            last = std::get<TickBegunRecord>(decode(record)).tick;
      },
      log::range_behind(log::newest_snapshot(*files)));
  return last;
}

/// A producer and a subscriber in one thread. The producer makes one object in each update, and
/// asks for a tick after every third one.
class Load {
 public:
  Load(zmq::context_t& context, const std::string& commands, const std::string& results)
      : client_(context, options(commands)),
        subscriber_(context,
                    {.results = results,
                     .client = options(commands),
                     .subscription = {.stream = "near"},
                     .retry_interval_ms = 1},
                    {.restarted = [this] { ++restarts_; }}) {
    EXPECT_TRUE(client_.put_stream({.name = "near", .on = ReportOn::distance, .with = {}}));
    EXPECT_TRUE(client_.put_queries({"near", queries_}));
  }

  /// Sends requests until stop(), and until one is acknowledged after begin().
  void run(test::Random& random) {
    while (!is_stopped_ || acknowledged_since_ == 0) {
      const std::uint64_t number = next_++;
      Fixes fixes;
      fixes.add(number, static_cast<std::int64_t>(number), static_cast<double>(random.below(1000)),
                0);
      const auto reply = client_.update(fixes.batch());
      if (reply) {
        acknowledged_.insert(number);
        ++acknowledged_since_;
      } else {
        ASSERT_EQ(to_string(reply.problem().code), "log_put_back") << reply.problem().sentence;
        told_.push_back(reply.problem().sentence);
      }
      if (number % 3 == 0 && !advance(number)) return;
      subscriber_.poll(0);
    }
  }
  void stop() { is_stopped_ = true; }
  void begin() {
    is_stopped_ = false;
    acknowledged_since_ = 0;
  }
  bool advance(std::uint64_t number) {
    const auto ticked = client_.advance_tick(static_cast<std::int64_t>(number));
    if (ticked) {
      acknowledged_tick_[run()] = ticked->tick;
      return true;
    }
    // A log that was put back has an earlier time.
    if (to_string(ticked.problem().code) == "log_put_back")
      told_.push_back(ticked.problem().sentence);
    else
      ADD_FAILURE() << ticked.problem().sentence;
    return to_string(ticked.problem().code) == "log_put_back";
  }

  /// Returns the numbers of acknowledged requests whose objects the server lacks. Forgets them.
  std::set<std::uint64_t> lost() {
    constexpr std::size_t at_once = 1000;
    std::set<std::uint64_t> lost;
    const std::vector<std::uint64_t> all(acknowledged_.begin(), acknowledged_.end());
    for (std::size_t first = 0; first < all.size(); first += at_once) {
      const auto some = std::span(all).subspan(first, std::min(at_once, all.size() - first));
      for (const ObjectId id : client_.objects(some).value().missing) lost.insert(to_number(id));
    }
    for (const std::uint64_t number : lost) acknowledged_.erase(number);
    return lost;
  }
  std::vector<std::string> told() { return std::exchange(told_, {}); }
  std::uint64_t restarts() { return std::exchange(restarts_, 0); }
  /// Returns whether a run before the present one acknowledged a tick after `last`. Forgets those
  /// runs.
  bool lost_ticks_after(Tick last) {
    std::erase_if(acknowledged_tick_,
                  [&](const auto& of) { return of.first != run() && of.second <= last; });
    return std::erase_if(acknowledged_tick_, [&](const auto& of) { return of.first != run(); }) > 0;
  }
  std::size_t acknowledged() const { return acknowledged_.size(); }

  void expect_the_servers_lists() {
    ASSERT_TRUE(advance(next_++));
    const auto answers = client_.get_neighbors({queries_}).value();
    int polls = 0;
    ASSERT_TRUE(happens([&] {
      subscriber_.poll(10);
      // The tick may have been published before the subscription, and no further tick follows.
      if (++polls % 50 == 0) subscriber_.miss_tick();
      const auto& state = subscriber_.state();
      return state.is_live() && state.held_at()->run == run() &&
             state.held_at()->tick == answers.tick;
    })) << subscriber_.obstacle();
    ASSERT_EQ(subscriber_.state().lists().at({.query = QueryId{1}}).neighbors,
              answers.lists[0].neighbors);
  }

 private:
  /// Returns the number of the server's present run.
  std::uint64_t run() const { return client_.server().runs.front().id; }
  static protocol::ClientOptions options(const std::string& commands) {
    return {.commands = commands, .name = "load", .reconnect_after_ms = 200};
  }

  const std::vector<protocol::QuerySpec> queries_{nearest_to(1, 5, 0, 0)};
  protocol::Client client_;
  protocol::Subscriber subscriber_;
  std::atomic<bool> is_stopped_{false};
  std::uint64_t next_ = 1;
  std::set<std::uint64_t> acknowledged_;
  std::atomic<std::uint64_t> acknowledged_since_{0};
  std::vector<std::string> told_;
  std::uint64_t restarts_ = 0;
  std::map<std::uint64_t, Tick> acknowledged_tick_;  ///< [run]: the last acknowledged tick
};

class BackupUnderLoad : public ProgramTest {
 protected:
  void start() {
    fs::remove(endpoints_path);
    std::vector<std::string> arguments =
        serve({"--tick", "manual", "--journal", log_, "--tau-step-max", "0s"});
    const auto set = [&](const std::string& flag, const std::string& value) {
      if (!value.empty()) *(std::ranges::find(arguments, flag) + 1) = value;
    };
    set("--commands", commands_);
    set("--results", results_);
    program_.emplace(arguments);
    ASSERT_TRUE(program_->says("ready:")) << program_->said();
    commands_ = endpoint("commands");
    results_ = endpoint("results");
  }
  void run_journal(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "journal");
    Program program(arguments);
    program.says("never said");
    ASSERT_EQ(program.exit_status(), 0) << program.said();
  }
  void wait_a_random_time() {
    std::this_thread::sleep_for(std::chrono::microseconds(random_.below(60'000)));
  }

  JournalFolder folder_;
  const std::string log_ = folder_.path() + "/log";
  const std::string copy_ = folder_.path() + "/copy";
  const std::uint64_t seed_ = test::number_in_environment("STARLING_SEED", 1);
  test::Random random_{seed_};
  test::Random load_random_{seed_ + 1};
  std::string commands_;
  std::string results_;
  std::optional<Program> program_;
};

TEST_F(BackupUnderLoad, WhatTheCopyLacksIsToldAndNothingElse) {
  const std::uint64_t rounds = test::number_in_environment("STARLING_BACKUPS", 6);
  std::uint64_t restored = 0;
  std::uint64_t lost_requests = 0;
  std::uint64_t told_subscribers = 0;
  ASSERT_NO_FATAL_FAILURE(start());
  Load load(context, commands_, results_);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + " of STARLING_SEED=" + std::to_string(seed_));
    load.begin();
    std::thread worker([&] { load.run(load_random_); });
    wait_a_random_time();
    run_journal({"backup", log_, copy_});
    wait_a_random_time();
    program_->send_signal(SIGKILL);
    program_->exit_status();
    const bool restores = random_.chance(0.7);
    Tick last_tick{std::numeric_limits<std::uint64_t>::max()};  // Only a copy lacks ticks.
    if (restores) {
      fs::remove_all(log_);
      run_journal({"restore", copy_, log_});
      last_tick = last_tick_of(log_);
      ++restored;
    }
    fs::remove_all(copy_);
    ASSERT_NO_FATAL_FAILURE(start());
    load.stop();
    worker.join();
    load.begin();
    load.stop();
    load.run(load_random_);  // until the new server has answered
    ASSERT_FALSE(HasFailure());
    const auto lost = load.lost();
    const auto told = load.told();
    lost_requests += lost.size();
    const bool lacks_ticks = load.lost_ticks_after(last_tick);
    ASSERT_EQ(told.empty(), lost.empty() && !lacks_ticks) << (told.empty() ? "" : told.front());
    ASSERT_LE(told.size(), 1u);
    ASSERT_TRUE(restores || lost.empty());
    ASSERT_NO_FATAL_FAILURE(load.expect_the_servers_lists());
    const std::uint64_t restarts = load.restarts();
    told_subscribers += restarts;
    ASSERT_EQ(restarts, restores ? 1u : 0u);
  }
  EXPECT_GT(load.acknowledged(), rounds);
  std::printf(
      "seed %llu: %llu copies put back in %llu rounds; %llu acknowledged requests were "
      "lost with them, and told; subscribers were told %llu times\n",
      static_cast<unsigned long long>(seed_), static_cast<unsigned long long>(restored),
      static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(lost_requests),
      static_cast<unsigned long long>(told_subscribers));
}

}  // namespace
}  // namespace starling::stream
