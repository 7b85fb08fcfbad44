// SPDX-License-Identifier: Apache-2.0
// Raises the limit on open files, because each connection is an open file. Called by `starling
// serve` and by its benchmark.
#pragma once

namespace starling::stream {

/// Raises the limit of this process, and of processes that it starts, to as many open files as the
/// system allows. The soft limit is commonly 1,024, and the hard limit far higher.
void raise_file_limit();

}  // namespace starling::stream
