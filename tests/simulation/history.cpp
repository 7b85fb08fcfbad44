// SPDX-License-Identifier: Apache-2.0
// See history.hpp.
#include "tests/simulation/history.hpp"

#include <algorithm>

namespace starling::simulation {
namespace {

protocol::ReceivedTick received(const std::shared_ptr<const SentMessage>& sent) {
  std::vector<protocol::AlignedBytes> frames;
  for (const Bytes& frame : sent->frames) frames.emplace_back(*frame);
  return protocol::receive_tick(std::move(frames), sent);
}

bool is_same(const SentMessage& a, const SentMessage& b) {
  return std::ranges::equal(a.frames, b.frames,
                            [](const Bytes& x, const Bytes& y) { return *x == *y; });
}

}  // namespace

void History::replied(RequestKey key, const std::string& told) {
  const auto [known, is_new] = replies_.try_emplace(key, told);
  if (!is_new && known->second != told)
    violated(name_of(key) + " has two replies: " + known->second + "; and " + told);
}

void History::published(const SentMessage& sent) {
  auto copy = std::make_shared<const SentMessage>(sent);
  protocol::ReceivedTick tick = received(copy);
  if (tick.tick.problem) return violated("a message is malformed: " + tick.tick.problem->sentence);
  // The topic ends with a NUL.
  const MessageKey key{sent.topic.substr(0, sent.topic.size() - 1), tick.tick.header.sequence};
  if (!tick.tick.header.failed) newest_tick_ = std::max(newest_tick_, tick.tick.header.tick);
  const auto known = messages_.find(key);
  if (known == messages_.end()) {
    messages_.emplace(key, PublishedMessage{std::move(copy), std::move(tick)});
  } else if (!is_same(*known->second.sent, sent)) {
    violated("message " + std::to_string(key.second) + " of " + key.first +
             " is published twice, with other bytes");
  }
}

}  // namespace starling::simulation
