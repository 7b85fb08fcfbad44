// SPDX-License-Identifier: Apache-2.0
// Runs a random script on a server with a given engine, from socket to socket, and returns the
// bytes that a subscriber got. Two engines are equal if they publish the same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "starling/knn/engine/engine.hpp"
#include "starling/knn/words/space.hpp"
#include "starling/protocol/wire/tick_message.hpp"

namespace starling::stream {

/// Returns all fields of the header but the epoch, which is random.
std::string text_of(const protocol::TickHeader& header);

struct PublishedScript {
  std::uint64_t seed = 1;
  Space space = Space::planar2;
  std::uint32_t objects = 300;
  int ticks = 12;
  unsigned update_threads = 1;
};

/// All messages of all streams, in the order of ticks. Each has the stream's name, then the header
/// as text_of() writes it, then the bytes of all chunks.
using PublishedBytes = std::vector<std::string>;

/// Sends a tick's updates while the tick before it is under way, and begins each tick as soon as
/// the server accepts it.
PublishedBytes publish(const PublishedScript& script, std::unique_ptr<Engine> engine);

}  // namespace starling::stream
