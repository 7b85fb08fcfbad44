// SPDX-License-Identifier: Apache-2.0
// Compares files by device and inode, not by name: see own_input.hpp.
#include "starling/apps/shared/own_input.hpp"

#include <filesystem>
#include <system_error>

#include "starling/sim/data/files/errors.hpp"

namespace starling::apps {

void refuse_own_input(const NamedOutput& output, std::span<const std::string> inputs) {
  std::error_code none;  // ignored: a file that does not exist is not an input
  if (!std::filesystem::is_regular_file(output.path, none)) return;
  for (const std::string& input : inputs)
    if (std::filesystem::equivalent(output.path, input, none))
      throw sim::UsageError(output.flag + ": " + output.path + " is read by this " + output.reader +
                            "; name another");
}

}  // namespace starling::apps
