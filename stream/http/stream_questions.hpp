// SPDX-License-Identifier: Apache-2.0
// The questions that the routes of a stream's lists and events pass to EventHub.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "starling/stream/http/wire_gateway.hpp"
#include "starling/stream/turns/peer_address.hpp"
#include "starling/stream/zmtp/authentication.hpp"

namespace starling::stream {

/// Whom lists are for.
struct ListsReader {
  zmtp::PrincipalId principal = zmtp::PrincipalId::anonymous;
  WireSender sender{};  ///< `wait` is null for readers of events
};

struct ListsQuestion {
  ListsReader reader;
  std::string stream;
  std::vector<std::uint64_t> query_ids{};  ///< empty: all queries
};

struct EventsQuestion {
  ListsReader reader;
  PeerAddress address{};
  std::string stream;
  std::string last_event_id{};  ///< the reader's Last-Event-ID; empty: it has no event yet
};

}  // namespace starling::stream
