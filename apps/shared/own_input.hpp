// SPDX-License-Identifier: Apache-2.0
// Refuses outputs that would replace a file that the same command reads. Called by the commands
// that write files.
#pragma once

#include <span>
#include <string>

namespace starling::apps {

/// An output as the user named it.
struct NamedOutput {
  std::string flag;    ///< such as "--out"
  std::string path;    ///< empty if the user named none
  std::string reader;  ///< the word for the run in the error, such as "replay"
};

/// Throws sim::UsageError if the output is the same file as one of `inputs`, also under another
/// name or through a link. Paths that name no file are allowed.
void refuse_own_input(const NamedOutput& output, std::span<const std::string> inputs);

}  // namespace starling::apps
