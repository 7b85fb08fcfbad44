// SPDX-License-Identifier: Apache-2.0
// Copies a received frame that is not aligned: see frame.hpp.
#include "starling/protocol/wire/frame.hpp"

#include <cstdint>
#include <cstring>

namespace starling::protocol {

static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= AlignedBytes::alignment);

AlignedBytes::AlignedBytes(std::span<const std::byte> bytes) : bytes_(bytes) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0) return;
  copy_ = std::make_unique<std::byte[]>(bytes.size());
  std::memcpy(copy_.get(), bytes.data(), bytes.size());
  bytes_ = {copy_.get(), bytes.size()};
}

}  // namespace starling::protocol
