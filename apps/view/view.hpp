// SPDX-License-Identifier: Apache-2.0
// `starling view`: a server that plays a recording, for the page in a browser.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command. The returned function runs it, and returns the exit status.
std::function<int()> add_view(CLI::App& program);

}  // namespace starling::apps
