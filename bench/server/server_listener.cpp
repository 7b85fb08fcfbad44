// SPDX-License-Identifier: Apache-2.0
// Polls the subscription until the destructor stops it: see server_listener.hpp.
#include "starling/bench/server/server_listener.hpp"

#include <chrono>
#include <stdexcept>
#include <utility>

namespace starling::bench {
namespace {

constexpr std::chrono::seconds tick_patience{60};
constexpr std::int64_t poll_ms = 100;

}  // namespace

Listener::Listener(const ServerChild& server, std::string stream, Handler handler)
    : handler_(std::move(handler)),
      subscriber_(
          context_,
          {.results = server.results(),
           .client = {.commands = server.commands(), .name = "starling bench", .key = server.key()},
           .subscription = {.stream = std::move(stream)}},
          {.applied = [this](const protocol::DecodedTick& tick) { note(tick.header); },
           .lost = [this](std::uint64_t ticks) { lost_ += ticks; }}) {
  while (!subscriber_.state().is_live()) subscriber_.poll(poll_ms);
  thread_ = std::thread([this] {
    while (!stopping_) subscriber_.poll(poll_ms);
  });
}

Listener::~Listener() {
  stopping_ = true;
  thread_.join();
}

Clock::time_point Listener::wait_for(Tick tick) {
  std::unique_lock lock(mutex_);
  const bool came =
      changed_.wait_for(lock, tick_patience, [&] { return newest_ >= to_number(tick); });
  if (!came || newest_ != to_number(tick) || lost_ > 0)
    throw std::runtime_error("the subscriber has lost a tick");
  return held_at_;
}

void Listener::note(const protocol::TickHeader& header) {
  const auto held_at = Clock::now();
  if (handler_) handler_(subscriber_.state().lists());
  const std::lock_guard lock(mutex_);
  held_at_ = held_at;
  newest_ = to_number(header.tick);
  changed_.notify_one();
}

}  // namespace starling::bench
