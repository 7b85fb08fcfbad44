// SPDX-License-Identifier: Apache-2.0
// A greedy principal: on several connections it sends bursts of requests and waits for no answer.
// Its requests change no objects, queries or streams.
#pragma once

#include <cstdint>
#include <vector>

#include "starling/protocol/wire/messages.hpp"
#include "tests/server_simulation/simulated_network.hpp"
#include "tests/server_simulation/simulated_requests.hpp"

namespace starling::simulation {

class SimulatedFlood {
 public:
  /// Sends `requests_max` requests, and then no more.
  SimulatedFlood(VirtualWorld& world, SimulatedNetwork& network, const Origin& origin,
                 std::size_t components, std::uint64_t connections, std::uint64_t requests_max);
  SimulatedFlood(const SimulatedFlood&) = delete;
  SimulatedFlood& operator=(const SimulatedFlood&) = delete;

 private:
  /// What the requests of a burst are.
  enum class Kind : std::uint8_t {
    stats,
    names,
    listing,  ///< ListStreams
    objects,
    questions,  ///< long questions to the engine
    hellos,
    guesses,  ///< requests in sessions of others
    batches,  ///< long batches with a wrong number, which are decoded and refused
    malformed,
  };
  static constexpr std::uint64_t kinds = 9;

  struct Connection {
    std::uint64_t number = 0;
    std::uint64_t session = 0;  ///< 0: not known yet
  };

  void work();
  void connect(Connection& connection);
  void burst(Connection& connection, std::uint64_t count);
  protocol::RequestBody body_of(Kind kind);
  void send(Connection& connection, Kind kind, const protocol::RequestBody& body);

  VirtualWorld& world_;
  SimulatedNetwork& network_;
  const Origin origin_;
  SimulatedRequests requests_;
  std::uint64_t left_;
  std::uint64_t next_request_ = 0;
  std::vector<Connection> connections_;
  stream::OwnedRequest batch_;  ///< what `batches` send
};

}  // namespace starling::simulation
