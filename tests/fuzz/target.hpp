// SPDX-License-Identifier: Apache-2.0
// Declares the interface of a fuzz target: seeds(), and the function that libFuzzer calls with an
// input. Each target is one file. replay.cpp runs the same function without libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/base/assert.hpp"

/// Every target defines this function. It must return 0 for any bytes, without a crash, a leak or a
/// failed check_invariant.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace starling::fuzz {

/// Returns valid inputs for libFuzzer to begin with. Every target defines this function.
std::vector<std::string> seeds();

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string string_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Returns the bytes of each sample frame: see tests/protocol/wire/samples.hpp.
template <class Samples>
std::vector<std::string> strings_of(const Samples& samples) {
  std::vector<std::string> all;
  for (const auto& sample : samples) all.push_back(string_of(sample.bytes));
  return all;
}

/// Returns one extra byte, followed by the given bytes. So the given bytes start at an odd address,
/// as the bytes of a ZeroMQ frame may.
inline std::string shifted(const std::uint8_t* data, std::size_t size) {
  std::string text = ".";
  text += text_of(data, size);
  return text;
}

}  // namespace starling::fuzz
