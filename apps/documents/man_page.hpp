// SPDX-License-Identifier: Apache-2.0
// Writes the man page of a command, in roff with the man macros.
#pragma once

#include <string>

#include "starling/apps/documents/flag_tree.hpp"

namespace starling::apps {

/// Returns the page of section 1. `version` is the program's, such as "starling 0.2.0".
std::string man_page(const Command& command, const Command& program, const std::string& version);

}  // namespace starling::apps
