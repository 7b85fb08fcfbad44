// SPDX-License-Identifier: Apache-2.0
// A subscriber over the simulated network. It uses the C++ subscriber's algorithm
// (SubscriptionState), and asks for a snapshot when ticks are lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "starling/protocol/client/client_session.hpp"
#include "starling/protocol/client/subscription.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "tests/server_simulation/history.hpp"
#include "tests/server_simulation/simulated_network.hpp"

namespace starling::simulation {

class SimulatedSubscriber {
 public:
  SimulatedSubscriber(VirtualWorld& world, SimulatedNetwork& network, History& history,
                      const Origin& origin, std::string stream);
  SimulatedSubscriber(const SimulatedSubscriber&) = delete;
  SimulatedSubscriber& operator=(const SimulatedSubscriber&) = delete;

  const protocol::SubscriptionState& state() const { return state_; }

 private:
  void work();
  void connect();
  void take(const Bytes& bytes);
  void remember();

  VirtualWorld& world_;
  SimulatedNetwork& network_;
  History& history_;
  const Origin origin_;
  std::string stream_;
  protocol::SubscriptionState state_;
  protocol::ClientSession session_;
  std::uint64_t connection_ = 0;
  bool is_greeted_ = false;
  std::optional<std::uint64_t> asked_id_;  ///< id of the request for a page
  std::int64_t asked_us_ = 0;              ///< time of the last request
  std::optional<protocol::HeldAt> remembered_;
};

}  // namespace starling::simulation
