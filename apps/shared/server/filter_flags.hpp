// SPDX-License-Identifier: Apache-2.0
// The flag -k and the flags of a filter, for queries and questions: how many neighbours, and which
// objects count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "starling/knn/words/filter.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace CLI {
class App;
}

namespace starling::apps {

/// The values of the flags. The struct must outlive the parsing.
struct FilterFlags {
  std::uint32_t k = 5;
  std::optional<double> distance_max_m;
  std::string age_max;
  TagFilter tags;
};

void add_filter_flags(CLI::App& command, FilterFlags& flags);

/// Sets k and the filter of `query`.
void set_filter(const FilterFlags& flags, protocol::QuerySpec& query);

}  // namespace starling::apps
