// Files are compared as the system knows them: see own_input.hpp.
#include "apps/shared/own_input.hpp"

#include <filesystem>
#include <system_error>

#include "sim/traces/trace.hpp"

namespace starling::apps {

void refuse_own_input(const NamedOutput& output, std::span<const std::string> inputs) {
  std::error_code none;  // what is not there is no input
  if (!std::filesystem::is_regular_file(output.path, none)) return;
  for (const std::string& input : inputs)
    if (std::filesystem::equivalent(output.path, input, none))
      throw sim::UsageError(output.flag + ": " + output.path + " is read by this " + output.reader +
                            "; name another");
}

}  // namespace starling::apps
