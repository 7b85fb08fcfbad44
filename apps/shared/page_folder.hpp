// SPDX-License-Identifier: Apache-2.0
// Where the files of the live page are.
#pragma once

#include <string>

namespace starling::apps {

/// Returns the folder of the page, or an empty text if no page shall be served. `flag` is the value
/// of --page: a folder, or "none". If it is empty, the folder is the one beside the program, where
/// the build or the installation puts it.
std::string page_folder(const std::string& flag);

}  // namespace starling::apps
