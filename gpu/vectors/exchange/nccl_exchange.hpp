// Lists over NCCL: see list_exchange.hpp, whose functions call these.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "gpu/vectors/exchange/list_exchange.hpp"

namespace starling::gpu {

/// Nothing where there is no NCCL, and why. Throws std::runtime_error, with what NCCL says, where
/// it is there and fails.
std::unique_ptr<ListExchange> make_nccl_exchange(std::span<const int> devices,
                                                 std::string& why_none);

}  // namespace starling::gpu
