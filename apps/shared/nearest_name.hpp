// SPDX-License-Identifier: Apache-2.0
// Finds the name that a misspelt word most probably means. Called by the checks of commands, flags,
// the --config file and the environment.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace starling::apps {

/// Returns the name with the smallest edit distance to `word`, where - and _ count as the same
/// letter. Returns an empty text if more than two letters differ, or all letters of the name.
std::string nearest_name(std::string_view word, std::span<const std::string> names);

/// Returns "; did you mean NAME?" with the nearest name, or an empty text if none is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> names);

}  // namespace starling::apps
