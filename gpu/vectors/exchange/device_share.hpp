// SPDX-License-Identifier: Apache-2.0
// How rows of a corpus, queries and lists are divided among several devices.
#pragma once

#include <cstdint>

namespace starling::gpu {

struct DeviceShare {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

/// Returns which of `count` things belong to number `device` of `devices` devices. The counts of
/// two devices differ by at most one.
constexpr DeviceShare share_of(std::uint64_t count, std::size_t device, std::size_t devices) {
  const std::uint64_t begin = count * device / devices;
  return {begin, count * (device + 1) / devices - begin};
}

}  // namespace starling::gpu
