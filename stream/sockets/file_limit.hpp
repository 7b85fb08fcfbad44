// SPDX-License-Identifier: Apache-2.0
// Each connection is an open file. Called by `starling serve` and by its benchmark.
#pragma once

namespace starling::stream {

/// Lets this process, and those it starts, open as many files as the system allows it: the soft
/// limit is commonly 1,024, the hard one far higher.
void raise_file_limit();

}  // namespace starling::stream
