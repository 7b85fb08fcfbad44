// SPDX-License-Identifier: Apache-2.0
// The exchange of lists over NCCL. list_exchange.cpp calls it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "starling/gpu/vectors/exchange/list_exchange.hpp"

namespace starling::gpu {

/// Returns nullptr if NCCL is not available; `why_none` then says why. Throws std::runtime_error
/// with the sentence of NCCL if it is available and fails.
std::unique_ptr<ListExchange> make_nccl_exchange(std::span<const int> devices,
                                                 std::string& why_none);

}  // namespace starling::gpu
