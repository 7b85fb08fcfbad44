// SPDX-License-Identifier: Apache-2.0
// The questions that the routes of a stream's lists and events pass to EventHub.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "starling/stream/zmtp/authentication.hpp"

namespace starling::stream {

struct ListsQuestion {
  zmtp::PrincipalId principal = zmtp::PrincipalId::anonymous;
  std::string stream;
  std::vector<std::uint64_t> query_ids{};  ///< empty: all queries
};

struct EventsQuestion {
  zmtp::PrincipalId principal = zmtp::PrincipalId::anonymous;
  std::string stream;
  std::string last_event_id{};  ///< the reader's Last-Event-ID; empty: it has no event yet
};

}  // namespace starling::stream
