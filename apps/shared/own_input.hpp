// Outputs that would replace what the same command reads. Called by the commands that write files.
#pragma once

#include <span>
#include <string>

namespace starling::apps {

/// An output as the user named it.
struct NamedOutput {
  std::string flag;    ///< "--out"
  std::string path;    ///< empty: not asked for
  std::string reader;  ///< what the command is to the user: "replay"
};

/// Throws sim::UsageError if the output is one of these files, by whatever name. Names of no file
/// are none of it.
void refuse_own_input(const NamedOutput& output, std::span<const std::string> inputs);

}  // namespace starling::apps
