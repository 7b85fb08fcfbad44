// SPDX-License-Identifier: Apache-2.0
// The flag --exact of the commands that write lists as CSV: distances that read back to the same
// number.
#pragma once

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the flag. `exact` must outlive the command.
void add_exact_flag(CLI::App& command, bool& exact);

}  // namespace starling::apps
