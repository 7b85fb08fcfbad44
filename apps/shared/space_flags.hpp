// SPDX-License-Identifier: Apache-2.0
// --space, --metric, --resolution and --origin of `starling serve`: the space of the objects. The
// flags are checked together after the command line, the environment and the file are read.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "starling/knn/words/lattice.hpp"

namespace starling::apps {

/// The values of the flags. The struct must outlive the parsing.
struct SpaceFlags {
  SpaceOptions space;
  CLI::Option* metric = nullptr;
  CLI::Option* resolution = nullptr;
  CLI::Option* origin = nullptr;
};

/// Returns the names that a --metric flag takes.
std::vector<std::string> metric_names();

void add_space_flags(CLI::App& command, SpaceFlags& flags);

/// Returns "planar2" or "vector:128 cosine", for example.
std::string name_of(const SpaceOptions& space);

/// Throws CLI::ValidationError with one sentence if a flag does not fit the space.
void check_space_flags(const SpaceFlags& flags);

}  // namespace starling::apps
