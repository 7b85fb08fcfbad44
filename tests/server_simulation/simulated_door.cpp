// SPDX-License-Identifier: Apache-2.0
// Passes frames in the order in which they get room: see simulated_door.hpp.
#include "tests/server_simulation/simulated_door.hpp"

#include <utility>

#include "tests/support/failing_new.hpp"

namespace starling::simulation {

using stream::Peer;
using stream::ReceivedRoom;
using stream::zmtp::Link;

SimulatedDoor::SimulatedDoor(SimulatedExecutor& executor, std::size_t bytes_max, Pass pass)
    : executor_(executor),
      bytes_max_(bytes_max),
      pass_(std::move(pass)),
      budget_(bytes_max, [this](const std::shared_ptr<Link>& link) {
        executor_.post([this, number = link->number] { go_on(number); });
      }) {}

void SimulatedDoor::receive(std::uint64_t connection, const Origin& origin, const Bytes& bytes) {
  Place& place = places_[connection];
  if (place.link == nullptr) {
    place.link = std::make_shared<Link>(connection, origin.address, lane_);
    place.link->principal = origin.principal;
  }
  place.frames.push_back(bytes);
  if (place.frames.size() > 1) return;
  executor_.post([this, connection] { go_on(connection); });
}

void SimulatedDoor::go_on(std::uint64_t connection) {
  Place& place = places_.at(connection);
  for (; !place.frames.empty(); place.frames.pop_front()) {
    const Bytes frame = place.frames.front();
    const std::size_t bytes = frame->size();
    {
      const test::SparedAllocations spared;
      const bool may_overdraw = bytes <= short_bytes_max && place.link->request_bytes == 0;
      if (!budget_.take(place.link, bytes, may_overdraw)) return;
    }
    place.link->request_bytes += bytes;
    bytes_ += bytes;
    pass_(Peer{.connection = connection,
               .principal = place.link->principal,
               .address = place.link->address},
          frame, ReceivedRoom(*this, place.link, bytes));
  }
}

void SimulatedDoor::take_back(const std::shared_ptr<Link>& link, std::size_t bytes) {
  const test::SparedAllocations spared;
  link->request_bytes -= bytes;
  bytes_ -= bytes;
  budget_.give_back(link, bytes);
}

}  // namespace starling::simulation
