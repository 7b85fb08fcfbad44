// SPDX-License-Identifier: Apache-2.0
// Writes completions for shells: the program's commands, its flags, and the values that flags list.
#pragma once

#include <string>

#include "starling/apps/documents/flag_tree.hpp"

namespace starling::apps {

/// Returns the file for share/bash-completion/completions. It needs bash alone, not the functions
/// of the package bash-completion.
std::string bash_completion(const Command& program);

/// Returns the file `_starling` for share/zsh/site-functions.
std::string zsh_completion(const Command& program);

/// Returns the file for share/fish/vendor_completions.d.
std::string fish_completion(const Command& program);

}  // namespace starling::apps
