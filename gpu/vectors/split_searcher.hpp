// SPDX-License-Identifier: Apache-2.0
// Makes one VectorSearcher of several GPUs of one host. If each GPU holds the whole corpus, each
// GPU answers a share of the queries, and nothing is merged. For few queries of a large corpus,
// each GPU instead answers all queries from a share of the rows. If a GPU has no room for the whole
// corpus, each GPU holds a share of the rows and answers all queries, and the lists are merged. A
// k-NN graph by the method of Kato & Hosino is divided as in their paper if each GPU holds the
// whole corpus. gpu/backend.cpp calls make_split_searcher().
#pragma once

#include <memory>
#include <span>

#include "starling/gpu/vectors/searcher_options.hpp"
#include "starling/knn/vectors/searcher.hpp"

namespace starling::gpu {

/// Makes a searcher that uses all of `devices`, which has at least one element. Naming a device
/// twice is allowed, gives it two shares, and is not faster. Throws DeviceError (see
/// gpu/device/check.hpp) if a device does not exist.
std::unique_ptr<VectorSearcher> make_split_searcher(std::span<const VectorSearcherOptions> devices,
                                                    const SplitOptions& options);

}  // namespace starling::gpu
