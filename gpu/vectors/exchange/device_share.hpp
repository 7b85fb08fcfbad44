// SPDX-License-Identifier: Apache-2.0
// Divides rows of a corpus, queries or lists among several devices. split_searcher.cpp and the
// exchanges call share_of().
#pragma once

#include <cstdint>

namespace starling::gpu {

struct DeviceShare {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

/// Returns which of `count` items (rows, queries or lists) belong to device number `device` of
/// `devices` devices. The counts of two devices differ by at most one.
constexpr DeviceShare share_of(std::uint64_t count, std::size_t device, std::size_t devices) {
  const std::uint64_t begin = count * device / devices;
  return {begin, count * (device + 1) / devices - begin};
}

}  // namespace starling::gpu
