// SPDX-License-Identifier: Apache-2.0
// The number types of binary files, and their conversion to float32 components and int64 labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace starling::sim {

struct NumberType {
  enum class Kind : std::uint8_t { signed_integer, unsigned_integer, floating };
  Kind kind = Kind::floating;
  std::uint8_t bytes = 4;
  bool big_endian = false;

  bool is_integer() const { return kind != Kind::floating; }
  bool operator==(const NumberType&) const = default;
};

/// The number type that a NumPy type name stands for. The name is a byte order, followed by f2, f4,
/// f8, i1 to i8 or u1 to u8. The byte order is '<', '>', '=' (this machine's) or '|' (for single
/// bytes). std::nullopt for any other name.
std::optional<NumberType> number_type_from_numpy(std::string_view name);

/// Fills `components` with the numbers at `first`, `first + stride_bytes` and so on, each rounded
/// once to the nearest float32. A finite number beyond the range of float32 becomes the largest
/// float32 of the same sign, never an infinity.
void read_components(const NumberType& type, const std::byte* first, std::size_t stride_bytes,
                     std::span<float> components);

/// The integer at `at`, or std::nullopt if it is beyond int64.
std::optional<std::int64_t> read_integer(const NumberType& type, const std::byte* at);

/// The float32 nearest to a finite number, never an infinity.
float finite_float32(double number);

}  // namespace starling::sim
