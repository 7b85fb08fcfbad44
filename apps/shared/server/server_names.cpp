// SPDX-License-Identifier: Apache-2.0
// Sends GetNames in parts: see server_names.hpp.
#include "starling/apps/shared/server/server_names.hpp"

#include <algorithm>

#include "starling/apps/shared/server/refusal_text.hpp"

namespace starling::apps {

sim::NameTable names_on(protocol::Client& client, std::span<const std::uint64_t> ids) {
  sim::NameTable names;
  const std::size_t asked_max = client.server().limits.names_asked_max;
  if (asked_max == 0) return names;
  while (!ids.empty()) {
    const auto asked = ids.first(std::min(asked_max, ids.size()));
    const protocol::NameAnswers answers = value_of(client.get_names(asked));
    for (std::size_t at = 0; at < asked.size(); ++at)
      if (!answers.texts[at].empty()) names.put(asked[at], answers.texts[at]);
    ids = ids.subspan(asked.size());
  }
  return names;
}

}  // namespace starling::apps
