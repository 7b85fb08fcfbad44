// SPDX-License-Identifier: Apache-2.0
// Compares each message and reply with earlier ones, and forgets what a copy lacks: see
// history.hpp.
#include "tests/server_simulation/history.hpp"

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
  newest_tau_us_ = std::max(newest_tau_us_, tick.tick.header.tau_us);
  const auto known = messages_.find(key);
  if (known == messages_.end()) {
    messages_.emplace(key, PublishedMessage{std::move(copy), std::move(tick)});
  } else if (!is_same(*known->second.sent, sent)) {
    violated("message " + std::to_string(key.second) + " of " + key.first +
             " is published twice, with other bytes");
  }
}

void History::held(Held held) {
  if (const auto due = to_be_told_.find(held.stream);
      due != to_be_told_.end() && !former_runs_.contains(held.at.run)) {
    if (held.restarts == due->second)
      violated("a subscriber of " + held.stream +
               " was not told that the log was put back from a copy");
    to_be_told_.erase(due);
  }
  last_held_[held.stream] = held;
  held_.push_back(std::move(held));
}

void History::put_back(const CopiedLog& copy) {
  ++put_backs_;
  std::erase_if(replies_, [&](const auto& reply) {
    const RequestKey key = reply.first;
    if (copy.answered.contains(key)) return false;
    if (!copy.begun.contains(key)) lost_.insert(key);
    return true;
  });
  newest_tick_ = {};
  newest_tau_us_ = 0;
  std::erase_if(messages_, [&](const auto& message) {
    const protocol::TickHeader& header = message.second.received.tick.header;
    former_runs_.insert(header.at.run.id);
    const bool is_lost = header.at.place > copy.next_sequence;
    if (!is_lost && !header.failed) newest_tick_ = std::max(newest_tick_, header.tick);
    return is_lost;
  });
  for (const auto& [stream, held] : last_held_)
    if (held.at.tick > copy.last_tick) to_be_told_[stream] = held.restarts;
  held_.clear();
  answered_.clear();
}

bool History::owes(std::uint64_t client) const {
  const auto first = lost_.lower_bound({client, 0});
  return first != lost_.end() && first->first == client;
}

void History::greeted(std::uint64_t client, std::optional<std::uint64_t> first_lost) {
  const std::string name = "client " + std::to_string(client);
  const bool is_owed = owes(client);
  if (is_owed && !first_lost) violated(name + " believes that the log has what it lacks");
  if (!is_owed && first_lost) violated(name + " believes that the log lacks what it has");
  if (!first_lost) return;
  for (const RequestKey& key : lost_)
    if (key.first == client && key.second < *first_lost)
      violated(name_of(key) + " is lost, and the client believes that it is there");
  for (const auto& [key, reply] : replies_)
    if (key.first == client && key.second >= *first_lost)
      violated(name_of(key) + " is in the log, and the client believes that it is lost");
  std::erase_if(lost_, [&](const RequestKey& key) { return key.first == client; });
  std::erase_if(requests_, [&](const auto& request) {
    return request.first.first == client && request.first.second >= *first_lost;
  });
}

}  // namespace starling::simulation
