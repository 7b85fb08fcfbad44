// SPDX-License-Identifier: Apache-2.0
// AheadStore copies rows ahead, as a store on a device does. With it, every machine tests what
// happens if staged rows are taken in parts.
#pragma once

#include <memory>

#include "starling/knn/vectors/store.hpp"

namespace starling::test {

/// Returns a store that passes all calls on to `store`, but keeps the rows of copy_ahead itself. A
/// row that apply gets must still be as copy_ahead got it; otherwise the test fails.
std::unique_ptr<VectorStore> make_ahead_store(std::unique_ptr<VectorStore> store);

}  // namespace starling::test
