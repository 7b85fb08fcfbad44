// --space, --metric, --resolution and --origin of `starling serve`: where objects live, checked as
// a whole once all flags, the environment and the file are read.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "knn/words/lattice.hpp"

namespace starling::apps {

/// Where the flags of one command go. It outlives the parsing.
struct SpaceFlags {
  SpaceOptions space;
  CLI::Option* metric = nullptr;
  CLI::Option* resolution = nullptr;
  CLI::Option* origin = nullptr;
};

void add_space_flags(CLI::App& command, SpaceFlags& flags);

/// "planar2", "vector:128 cosine".
std::string name_of(const SpaceOptions& space);

/// Throws CLI::ValidationError with one sentence where a flag does not go with the space.
void check_space_flags(const SpaceFlags& flags);

}  // namespace starling::apps
