// SPDX-License-Identifier: Apache-2.0
// What the routes of a stream's lists and events ask. EventHub answers.
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
  std::string last_event_id{};  ///< what the reader sends; empty: it has no event
};

}  // namespace starling::stream
