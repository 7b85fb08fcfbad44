// SPDX-License-Identifier: Apache-2.0
// Has the one help text of --exact: see exact_flag.hpp.
#include "starling/apps/shared/exact_flag.hpp"

#include <CLI/CLI.hpp>

namespace starling::apps {

void add_exact_flag(CLI::App& command, bool& exact) {
  command.add_flag(
      "--exact", exact,
      "Write each distance in CSV as the shortest text that reads back to the same number. "
      "--distance-max with that text keeps the neighbour. Without this flag, metres are rounded to "
      "three decimals, and --distance-max with these may lose it. Distances of vectors are always "
      "exact");
}

}  // namespace starling::apps
