// SPDX-License-Identifier: Apache-2.0
// Finds the files of the live page, for `starling serve`, `view` and `simulate`.
#pragma once

#include <string>

namespace starling::apps {

/// Returns the folder of the page, or an empty text if there is no page. `flag` is the value of
/// --page: a folder, or "none". If `flag` is empty, looks beside the program, where the build or
/// the installation puts the page.
std::string page_folder(const std::string& flag);

}  // namespace starling::apps
