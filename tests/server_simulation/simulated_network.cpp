// SPDX-License-Identifier: Apache-2.0
// Delivers frames and messages as events of the world: see simulated_network.hpp.
#include "tests/server_simulation/simulated_network.hpp"

#include <algorithm>
#include <utility>

#include "tests/support/failing_new.hpp"

namespace starling::simulation {

namespace {

/// A hash of the bytes (FNV-1a).
std::uint64_t hash_of(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte each : bytes)
    hash = (hash ^ static_cast<std::uint64_t>(each)) * 0x100000001b3;
  return hash;
}

}  // namespace

Bytes bytes_of(std::span<const std::byte> bytes) {
  return std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
}

std::uint64_t SimulatedNetwork::connect(const Origin& origin, OnBytes on_reply) {
  clients_[++connections_] = {.origin = origin, .on_reply = std::move(on_reply)};
  return connections_;
}

/// Returns the time when a frame arrives. The frame arrives after the previous one, unless it
/// overtakes that frame.
std::int64_t SimulatedNetwork::arrival(std::int64_t& last_us) {
  std::int64_t delay_us = 20 + static_cast<std::int64_t>(world_.random().below(200));
  if (world_.happens(Fault::delay, 0.05))
    delay_us += static_cast<std::int64_t>(world_.random().below(300'000));
  const std::int64_t at_us = world_.now_us() + delay_us;
  if (world_.happens(Fault::reordering, 0.05)) return at_us;
  last_us = std::max(last_us, at_us);
  return last_us;
}

void SimulatedNetwork::deliver(std::int64_t& last_us, const std::function<void()>& delivery) {
  if (world_.happens(Fault::loss, 0.03)) return;
  world_.at(arrival(last_us), delivery);
  if (world_.happens(Fault::duplicates, 0.03)) world_.at(arrival(last_us), delivery);
}

void SimulatedNetwork::send(std::uint64_t connection, std::span<const std::byte> frame) {
  const auto client = clients_.find(connection);
  if (client == clients_.end()) return;
  world_.note(hash_of(frame));
  if (world_.happens(Fault::cuts, 0.01)) return close(connection);
  deliver(client->second.to_server_us, [this, connection, origin = client->second.origin,
                                        server = server_number_, bytes = bytes_of(frame)] {
    if (on_request_ && server == server_number_) on_request_(connection, origin, bytes);
  });
}

void SimulatedNetwork::reply(std::uint64_t connection, std::span<const std::byte> frame) {
  const test::SparedAllocations spared;
  const auto client = clients_.find(connection);
  if (client == clients_.end()) return;
  deliver(client->second.to_client_us, [this, connection, bytes = bytes_of(frame)] {
    const auto found = clients_.find(connection);
    if (found == clients_.end()) return;
    const OnBytes on_reply = found->second.on_reply;  // a copy, because the handler may close the
                                                      // connection
    on_reply(bytes);
  });
}

void SimulatedNetwork::cut_all() {
  ++server_number_;
  on_request_ = {};
  clients_.clear();
}

void SimulatedNetwork::subscribe(std::string topic, OnMessage on_message) {
  subscribers_.push_back(std::make_unique<Subscriber>(
      Subscriber{.topic = std::move(topic), .on_message = std::move(on_message)}));
}

void SimulatedNetwork::send(std::span<protocol::TickMessage> messages, std::size_t) {
  const test::SparedAllocations spared;
  for (const protocol::TickMessage& message : messages) {
    const auto sent = std::make_shared<SentMessage>();
    sent->topic = message.topic;
    sent->frames.push_back(bytes_of(message.header.bytes()));
    for (const protocol::Frame& chunk : message.chunks)
      sent->frames.push_back(bytes_of(chunk.bytes()));
    for (const Bytes& frame : sent->frames) world_.note(hash_of(*frame));
    watcher_(*sent);
    for (const auto& subscriber : subscribers_)
      if (subscriber->topic == sent->topic)
        deliver(subscriber->arrived_us,
                [subscriber = subscriber.get(), sent = std::shared_ptr<const SentMessage>(sent)] {
                  subscriber->on_message(sent);
                });
  }
}

std::uint64_t SimulatedNetwork::subscriber_count(std::string_view topic) const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(subscribers_, [&](const auto& each) { return each->topic == topic; }));
}

}  // namespace starling::simulation
