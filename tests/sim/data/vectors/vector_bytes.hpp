// SPDX-License-Identifier: Apache-2.0
// Builds the bytes of binary vector files for tests. Assumes a little-endian machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace starling::sim {

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

/// Returns the start of a .npy file: the magic bytes, the version, the header's length, and
/// `header` unchanged.
inline std::string npy_start(std::string_view header, char version = 1) {
  std::string text = "\x93NUMPY";
  text += {version, '\0'};
  const auto length = static_cast<std::uint32_t>(header.size());
  text += bytes_of(std::vector<std::uint32_t>{length}).substr(0, version == 1 ? 2 : 4);
  return text.append(header);
}

/// Returns a .npy file. Only the amount of padding differs from what NumPy writes.
inline std::string npy(std::string_view type, std::string_view shape, std::string_view data,
                       std::string_view fortran_order = "False") {
  std::string header = "{'descr': '";
  header.append(type).append("', 'fortran_order': ").append(fortran_order);
  header.append(", 'shape': ").append(shape).append(", }");
  while ((header.size() + 11) % 64 != 0) header += ' ';
  return npy_start(header + '\n').append(data);
}

/// Returns one row of a .fvecs, .bvecs or .ivecs file.
template <class Number>
std::string vecs_row(const std::vector<Number>& numbers) {
  return bytes_of(std::vector<std::int32_t>{static_cast<std::int32_t>(numbers.size())}) +
         bytes_of(numbers);
}

}  // namespace starling::sim
