// SPDX-License-Identifier: Apache-2.0
// Raises the limit on open files, because each connection is an open file. Called by `starling
// serve` and by its benchmark.
#pragma once

namespace starling::stream {

/// Raises the soft limit on open files, commonly 1,024, to the hard limit, which is far higher.
/// Applies to this process and to the processes that it starts.
void raise_file_limit();

}  // namespace starling::stream
