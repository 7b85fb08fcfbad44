// SPDX-License-Identifier: Apache-2.0
// The network between one server and its clients and subscribers. The world draws the frames that
// are lost, late, doubled or out of order, and the connections that are cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/sockets/results.hpp"
#include "tests/server_simulation/principals/origin.hpp"
#include "tests/server_simulation/virtual_world.hpp"

namespace starling::simulation {

using Bytes = std::shared_ptr<const std::vector<std::byte>>;

Bytes bytes_of(std::span<const std::byte> bytes);

/// The published message of a tick, as it left the server.
struct SentMessage {
  std::string topic;
  std::vector<Bytes> frames;  ///< header and chunks
};

class SimulatedNetwork final : public stream::Results {
 public:
  explicit SimulatedNetwork(VirtualWorld& world) : world_(world) {}

  // The clients' side
  using OnBytes = std::function<void(const Bytes&)>;
  /// Opens a connection and returns its number. `on_reply` gets the replies.
  std::uint64_t connect(const Origin& origin, OnBytes on_reply);
  bool is_open(std::uint64_t connection) const { return clients_.contains(connection); }
  void send(std::uint64_t connection, std::span<const std::byte> frame);
  /// Closes a connection. No reply comes any more, but frames under way still arrive at the server.
  void close(std::uint64_t connection) { clients_.erase(connection); }

  using OnMessage = std::function<void(const std::shared_ptr<const SentMessage>&)>;
  void subscribe(std::string topic, OnMessage on_message);

  // The server's side
  using OnRequest =
      std::function<void(std::uint64_t connection, const Origin& origin, const Bytes&)>;
  void serve(OnRequest on_request) { on_request_ = std::move(on_request); }
  /// Cuts all connections, because the server has ended. Frames on their way to it are lost.
  void cut_all();
  void reply(std::uint64_t connection, std::span<const std::byte> frame);
  void send(std::span<protocol::TickMessage> messages, std::size_t of_tick) override;
  std::uint64_t subscriber_count(std::string_view topic) const override;
  /// Calls `watcher` with each message before it leaves.
  void watch(std::function<void(const SentMessage&)> watcher) { watcher_ = std::move(watcher); }

 private:
  struct Client {
    Origin origin;
    OnBytes on_reply;
    std::int64_t to_server_us = 0;  ///< arrival of the last frame; later ones arrive after it
                                    ///< unless they overtake
    std::int64_t to_client_us = 0;
  };
  struct Subscriber {
    std::string topic;
    OnMessage on_message;
    std::int64_t arrived_us = 0;
  };

  std::int64_t arrival(std::int64_t& last_us);
  void deliver(std::int64_t& last_us, const std::function<void()>& delivery);

  VirtualWorld& world_;
  std::uint64_t connections_ = 0;
  std::uint64_t server_number_ = 0;  ///< counts servers; frames to an earlier one are lost
  std::map<std::uint64_t, Client> clients_;
  std::vector<std::unique_ptr<Subscriber>> subscribers_;
  OnRequest on_request_;
  std::function<void(const SentMessage&)> watcher_;
};

}  // namespace starling::simulation
