// SPDX-License-Identifier: Apache-2.0
// Makes the exchange of lists over NCCL, where NCCL is installed. list_exchange.cpp calls it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "starling/gpu/vectors/exchange/list_exchange.hpp"

namespace starling::gpu {

/// Makes an exchange between the devices with these CUDA numbers. If NCCL is not available, returns
/// nullptr and writes the reason to `why_none`. If NCCL is available but fails, throws
/// std::runtime_error with the message of NCCL.
std::unique_ptr<ListExchange> make_nccl_exchange(std::span<const int> devices,
                                                 std::string& why_none);

}  // namespace starling::gpu
