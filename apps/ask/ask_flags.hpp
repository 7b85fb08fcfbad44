// SPDX-License-Identifier: Apache-2.0
// The flags of `starling ask`, and the question that they ask.
#pragma once

#include <string>

#include "starling/apps/ask/answer_text.hpp"
#include "starling/apps/shared/server/filter_flags.hpp"
#include "starling/apps/shared/server/place_flags.hpp"
#include "starling/apps/shared/server/server_flags.hpp"
#include "starling/knn/words/space.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/sim/data/traces/name_table.hpp"

namespace starling::apps {

struct AskFlags {
  ServerFlags server;
  PlaceFlags place;
  std::string object;
  FilterFlags filter;
  std::string journal;  ///< the folder of a log; empty: the server is asked
  std::string at;       ///< a time; empty: the last tick
  bool json = false;
  bool csv = false;
  bool exact = false;  ///< --csv writes distances exactly
};

/// Throws CLI::ValidationError if the place does not suit the space.
protocol::QuerySpec question_of(const AskFlags& flags, const SpaceOptions& space);

struct NamedAnswer {
  Answer answer;
  sim::NameTable names;
};

}  // namespace starling::apps
