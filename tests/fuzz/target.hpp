// What a fuzz target is: a function over bytes that libFuzzer calls, and the inputs to begin with.
// One target a file; replay.cpp runs the same function without libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/base/assert.hpp"

/// Ends without a crash, a leak or a broken claim, whatever the bytes are; returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace starling::fuzz {

/// Good inputs, made by the project's own code.
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

/// The bytes of the protocol tests' frames.
template <class Samples>
std::vector<std::string> strings_of(const Samples& samples) {
  std::vector<std::string> all;
  for (const auto& sample : samples) all.push_back(string_of(sample.bytes));
  return all;
}

/// The bytes after one more: at an odd address, as ZeroMQ may leave a frame.
inline std::string shifted(const std::uint8_t* data, std::size_t size) {
  std::string text = ".";
  text += text_of(data, size);
  return text;
}

}  // namespace starling::fuzz
