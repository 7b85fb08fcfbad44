// SPDX-License-Identifier: Apache-2.0
// Random requests of one client. Coordinates are whole numbers of lattice units, so that the oracle
// need not round.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tests/server_simulation/virtual_world.hpp"
#include "tests/stream/journal/random_requests.hpp"

namespace starling::simulation {

/// Metres for each unit of the lattice.
inline constexpr double metres_per_unit = 0.01;

struct RequestOptions {
  bool has_manual_ticks = true;
  bool may_tick = false;       ///< the client also sends ticks, if they are manual
  bool may_tag = false;        ///< the client sends requests for tags
  std::size_t components = 2;  ///< coordinates of a place
};

class SimulatedRequests {
 public:
  SimulatedRequests(VirtualWorld& world, const RequestOptions& options)
      : world_(world), options_(options) {}

  /// The ids of queries are below this number.
  static constexpr std::uint64_t queries = 6;

  stream::OwnedRequest next();
  stream::OwnedRequest tick();
  /// A batch of objects that is so long that a worker thread decodes it.
  stream::OwnedRequest long_batch();
  /// A question around a place, or around an object that may be unknown.
  protocol::QuerySpec question();

 private:
  static constexpr std::uint64_t objects = 24;

  stream::OwnedRequest rows(stream::OwnedRequest::Kind kind, std::uint64_t count_max);
  protocol::QuerySpec around_place();
  stream::OwnedRequest a_stream(std::uint64_t number);
  stream::OwnedRequest some_queries();
  std::int64_t time_us();
  double place();

  VirtualWorld& world_;
  const RequestOptions options_;
  std::uint64_t new_streams_ = 0;  ///< number of streams that the client has put; it puts all of
                                   ///< them first
};

/// The names of the streams. Clients share them. The last one has no subscriber, and is removed and
/// put again, so that the slots of queries are given anew.
inline constexpr std::uint64_t streams = 3;
inline constexpr std::uint64_t followed_streams = 2;
inline std::string stream_name(std::uint64_t number) {
  constexpr std::array names{"all", "members", "passing"};
  return names[number];
}
/// Returns whether the stream reports each change, so that its subscribers hold the exact lists.
inline bool stream_reports_all(const std::string& name) {
  return name == stream_name(0);
}

}  // namespace starling::simulation
