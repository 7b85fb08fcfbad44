// SPDX-License-Identifier: Apache-2.0
// Runs the honest clients on a thread each, and measures: see honest_clients.hpp.
#include "tests/stream/soak/honest_clients.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "starling/knn/base/clocks.hpp"

namespace starling::stream {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t first_object = 500'000;
constexpr std::uint64_t object_count = 1000;
constexpr std::uint64_t query_count = 20;
constexpr std::uint32_t k = 10;
constexpr double corner_m = 5e6;
constexpr std::uint64_t side_m = 1000;
constexpr std::chrono::milliseconds batch_period{50};
constexpr std::chrono::milliseconds question_period{5};

double ms_of(const std::function<void()>& action) {
  const auto since = Clock::now();
  action();
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

protocol::SubscriberOptions subscriber_options(const Endpoints& endpoints,
                                               const protocol::ClientOptions& client) {
  protocol::SubscriberOptions options;
  options.results = endpoints.results;
  options.client = client;
  options.subscription.stream = HonestClients::stream;
  options.retry_interval_ms = 1;
  return options;
}

/// An exception of a client, such as that no reply has come, is a failure.
void guarded(const char* client, const std::function<void()>& run) try {
  run();
} catch (const std::exception& error) {
  ADD_FAILURE() << "the " << client << ": " << error.what();
}

}  // namespace

double HonestTimes::at(std::vector<double> times, double part) {
  if (times.empty()) return 0;
  std::ranges::sort(times);
  return times[std::min(times.size() - 1,
                        static_cast<std::size_t>(part * static_cast<double>(times.size())))];
}

HonestClients::HonestClients(const Endpoints& endpoints, const HonestKeys& keys, std::uint64_t seed)
    : random_(seed),
      moves_(seed + 1),
      producer_(context_,
                {.commands = endpoints.commands, .name = "producer", .key = keys.producer}),
      asker_(context_, {.commands = endpoints.commands, .name = "asker", .key = keys.asker}) {
  EXPECT_TRUE(producer_.put_stream({.name = stream, .on = ReportOn::distance, .with = {}}));
  std::vector<protocol::QuerySpec> queries;
  for (std::uint64_t id = 0; id < query_count; ++id)
    queries.push_back(nearest_to(id, k, corner_m + static_cast<double>(id), corner_m));
  EXPECT_TRUE(producer_.put_queries({stream, queries}));
  subscriber_.emplace(
      context_,
      subscriber_options(
          endpoints,
          {.commands = endpoints.commands, .name = "subscriber", .key = keys.subscriber}),
      protocol::SubscriptionHandlers{
          .applied = [this](const protocol::DecodedTick&) { arrivals_.push_back(Clock::now()); }});
  witness_.emplace(context_, endpoints, Witness::Ticks::by_the_clock, keys.witness);
  // Questions find all objects once a tick has them.
  bool is_first = true;
  std::vector<double> first_ms;
  produce([&] { return !std::exchange(is_first, false); }, first_ms);
  witness_->move_and_expect_exact(random_);
  EXPECT_TRUE(happens([&] {
    subscriber_->poll(100);
    return subscriber_->state().is_live();
  }));
}

HonestTimes HonestClients::run(double seconds, const Program& server) {
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  const std::function<bool()> is_over = [until] { return Clock::now() >= until; };
  HonestTimes times;
  std::thread producer(guarded, "producer", [&] { produce(is_over, times.update_ms); });
  std::thread asker(guarded, "asker", [&] { ask(is_over, times.question_ms); });
  std::thread subscriber(guarded, "subscriber", [&] { follow(is_over, times.tick_ms); });
  std::thread witness(guarded, "witness", [&] {
    while (!is_over() && !testing::Test::HasFailure())
      times.list_ms.push_back(ms_of([&] { witness_->move_and_expect_exact(random_); }));
  });
  while (!is_over()) {
    times.resident_bytes_max = std::max(times.resident_bytes_max, server.resident_bytes());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  for (std::thread* client : {&producer, &asker, &subscriber, &witness}) client->join();
  return times;
}

void HonestClients::note_refusal(const protocol::Problem& problem) {
  if (refusals_++ == 0) ADD_FAILURE() << "an honest client was refused: " << problem.sentence;
}

std::uint64_t HonestClients::ticks_lost() {
  return subscriber_->state().counters().ticks_lost +
         witness_->subscriber().state().counters().ticks_lost;
}

void HonestClients::produce(const std::function<bool()>& is_over, std::vector<double>& times) {
  for (auto due = Clock::now(); !is_over(); due += batch_period) {
    std::this_thread::sleep_until(due);
    Fixes fixes;
    const std::int64_t now_us = wall_now_us();
    for (std::uint64_t id = 0; id < object_count; ++id)
      fixes.add(first_object + id, now_us, corner_m + static_cast<double>(moves_.below(side_m)),
                corner_m + static_cast<double>(moves_.below(side_m)));
    times.push_back(ms_of([&] {
      const auto reply = producer_.update(fixes.batch());
      if (!reply) note_refusal(reply.problem());
      if (reply) rows_lost_ += object_count - reply->accepted;
    }));
  }
}

void HonestClients::ask(const std::function<bool()>& is_over, std::vector<double>& times) {
  while (!is_over()) {
    times.push_back(ms_of([&] {
      const auto answers = asker_.get_neighbors({{nearest_to(0, k, corner_m, corner_m)}});
      if (!answers) note_refusal(answers.problem());
      if (answers) {
        EXPECT_EQ(answers->lists[0].neighbors.size(), k);
      }
    }));
    std::this_thread::sleep_for(question_period);
  }
}

void HonestClients::follow(const std::function<bool()>& is_over, std::vector<double>& times) {
  arrivals_.clear();
  while (!is_over()) subscriber_->poll(10);
  for (std::size_t at = 1; at < arrivals_.size(); ++at)
    times.push_back(
        std::chrono::duration<double, std::milli>(arrivals_[at] - arrivals_[at - 1]).count());
}

}  // namespace starling::stream
