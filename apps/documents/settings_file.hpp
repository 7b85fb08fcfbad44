// SPDX-License-Identifier: Apache-2.0
// Writes the sample of the file that `starling serve --config` reads. The packages install it as
// /etc/starling/starling.toml.
#pragma once

#include <string>

#include "starling/apps/documents/flag_tree.hpp"

namespace starling::apps {

/// Returns a TOML file in which every flag of the command `serve` stands in a comment: with its
/// default or, without a default, with a word for its value.
std::string settings_file(const Command& serve);

}  // namespace starling::apps
