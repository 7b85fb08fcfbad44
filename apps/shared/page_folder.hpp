// SPDX-License-Identifier: Apache-2.0
// Where the files of the live page are.
#pragma once

#include <string>

namespace starling::apps {

/// Returns the folder of the page; empty: there is none. `flag` is the value of --page: a folder,
/// "none", or empty for the folder beside the program, built or installed.
std::string page_folder(const std::string& flag);

}  // namespace starling::apps
