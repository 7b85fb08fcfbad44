// SPDX-License-Identifier: Apache-2.0
// Several GPUs of one host as one VectorSearcher. If each GPU holds the whole corpus, each GPU
// answers a share of the queries, and nothing is merged. Otherwise each GPU holds a share of the
// rows and answers all queries, and the lists are merged. A graph by the method of Kato & Hosino is
// divided as in their paper. Called by gpu/backend.cpp.
#pragma once

#include <memory>
#include <span>

#include "starling/gpu/vectors/searcher_options.hpp"
#include "starling/knn/vectors/searcher.hpp"

namespace starling::gpu {

/// Makes a searcher over these devices, at least one. Naming a device twice is allowed, gives it
/// two shares, and is not faster. Throws DeviceError (see gpu/device/check.hpp) with a sentence if
/// a device does not exist.
std::unique_ptr<VectorSearcher> make_split_searcher(std::span<const VectorSearcherOptions> devices,
                                                    const SplitOptions& options);

}  // namespace starling::gpu
