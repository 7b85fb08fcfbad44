// SPDX-License-Identifier: Apache-2.0
// Adds the flags of a filter: see filter_flags.hpp.
#include "starling/apps/shared/server/filter_flags.hpp"

#include <CLI/CLI.hpp>

#include "starling/apps/shared/duration_flag.hpp"

namespace starling::apps {

void add_filter_flags(CLI::App& command, FilterFlags& flags) {
  command.add_option("-k,--k", flags.k, "The number of neighbours")
      ->check(CLI::Range(std::uint32_t{1}, k_max))
      ->capture_default_str();
  command.add_option("--distance-max", flags.distance_max_m,
                     "Leave out objects farther than this, in metres (in a vector space, in units "
                     "of the metric)");
  command
      .add_option("--age-max", flags.age_max,
                  "Leave out objects whose last row is older than this, such as 10m")
      ->check(is_duration_from(0))
      ->type_name("DURATION");
  command.add_option("--tags-required", flags.tags.required,
                     "Leave out objects that lack one of these tag bits, given as one number: bits "
                     "0 and 2 are 5");
  command.add_option("--tags-forbidden", flags.tags.forbidden,
                     "Leave out objects that have one of these tag bits");
}

void set_filter(const FilterFlags& flags, protocol::QuerySpec& query) {
  query.k = flags.k;
  query.tags = flags.tags;
  if (flags.distance_max_m) query.distance_max_m = *flags.distance_max_m;
  if (!flags.age_max.empty()) query.age_max_us = duration_us(flags.age_max);
}

}  // namespace starling::apps
