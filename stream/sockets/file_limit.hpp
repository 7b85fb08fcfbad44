// SPDX-License-Identifier: Apache-2.0
// Raises the limit on open files, because each connection is an open file. `starling serve` and the
// benchmark bench/server/server_subscribers.cpp call raise_file_limit().
#pragma once

#include <cstddef>

namespace starling::stream {

/// Raises the soft limit on open files to the hard limit. The soft limit is commonly 1,024, and the
/// hard limit is far higher. The new limit applies to this process and to its later children.
void raise_file_limit();
/// Returns how many files this process may have open.
std::size_t open_files_max();

}  // namespace starling::stream
