// SPDX-License-Identifier: Apache-2.0
// The answer of `starling ask` as a table and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "starling/knn/words/types.hpp"
#include "starling/protocol/client/list_store.hpp"
#include "starling/sim/data/traces/name_table.hpp"

namespace starling::apps {

struct Answer {
  Tick tick{};
  std::int64_t tau_us = 0;
  protocol::HeldList list{};
  bool is_vector = false;   ///< true: distances are not in metres
  bool is_unknown = false;  ///< true: the tick does not have the object of the question
};

/// Returns a line with tick and time, and a table with a row for each neighbour.
std::string answer_table(const Answer& answer, const sim::NameTable& names);

/// Returns one JSON object. Ids are strings, because numbers in JSON are exact only up to 2^53.
std::string answer_json(const Answer& answer, const sim::NameTable& names);

}  // namespace starling::apps
