// SPDX-License-Identifier: Apache-2.0
// An honest principal within its quotas: it sends one request that changes nothing after the other,
// and each must be answered in time (Promptness).
#pragma once

#include <cstdint>
#include <vector>

#include "starling/protocol/client/client_session.hpp"
#include "tests/server_simulation/principals/promptness.hpp"
#include "tests/server_simulation/simulated_network.hpp"
#include "tests/server_simulation/simulated_requests.hpp"

namespace starling::simulation {

class SimulatedAsker {
 public:
  SimulatedAsker(VirtualWorld& world, SimulatedNetwork& network, Promptness& promptness,
                 const Origin& origin, std::size_t components);
  SimulatedAsker(const SimulatedAsker&) = delete;
  SimulatedAsker& operator=(const SimulatedAsker&) = delete;

 private:
  void connect();
  void work();
  void ask();
  void take(const Bytes& bytes);

  VirtualWorld& world_;
  SimulatedNetwork& network_;
  Promptness& promptness_;
  const Origin origin_;
  SimulatedRequests requests_;
  protocol::ClientSession session_{"asker"};
  std::uint64_t connection_ = 0;
  bool is_greeted_ = false;
  std::uint64_t asked_id_ = 0;  ///< id of the request without an answer; 0: none
  std::int64_t since_us_ = 0;   ///< time of the last request or hello
};

}  // namespace starling::simulation
