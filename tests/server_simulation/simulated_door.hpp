// SPDX-License-Identifier: Apache-2.0
// Takes the frames of a simulated server's connections, as CommandSocket does: each frame needs
// room from the ReceiveBudget, and a connection without room waits. The frames that follow stay in
// the network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>

#include <boost/asio/io_context.hpp>

#include "starling/stream/sockets/receive_budget.hpp"
#include "starling/stream/state/peer.hpp"
#include "starling/stream/zmtp/listener.hpp"
#include "tests/server_simulation/simulated_executor.hpp"
#include "tests/server_simulation/simulated_network.hpp"

namespace starling::simulation {

class SimulatedDoor final : stream::ReceivedRoom::Keeper {
 public:
  /// Takes a frame, on the loop.
  using Pass = std::function<void(const stream::Peer&, const Bytes&, stream::ReceivedRoom)>;
  SimulatedDoor(SimulatedExecutor& executor, std::size_t bytes_max, Pass pass);

  /// A frame has arrived.
  void receive(std::uint64_t connection, const Origin& origin, const Bytes& bytes);
  /// Returns the bytes of the frames that have room.
  std::size_t bytes() const { return bytes_; }
  /// Returns the most bytes that may have room: the budget, and one short frame of each connection.
  std::size_t bytes_allowed() const { return bytes_max_ + places_.size() * short_bytes_max; }

 private:
  static constexpr std::size_t short_bytes_max = std::size_t{16}
                                                 << 10;  ///< CommandSocket has the same

  struct Place {
    std::shared_ptr<stream::zmtp::Link> link;
    std::deque<Bytes> frames;  ///< frames that have no room yet
  };

  void take_back(const std::shared_ptr<stream::zmtp::Link>& link, std::size_t bytes) override;
  void go_on(std::uint64_t connection);

  SimulatedExecutor& executor_;
  const std::size_t bytes_max_;
  Pass pass_;
  boost::asio::io_context never_run_;
  stream::zmtp::Lane lane_{.loop = never_run_};
  stream::ReceiveBudget budget_;
  std::size_t bytes_ = 0;
  std::map<std::uint64_t, Place> places_;  ///< the key is the connection
};

}  // namespace starling::simulation
