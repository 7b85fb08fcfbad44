// SPDX-License-Identifier: Apache-2.0
// This file defines the number types of binary files and their conversion to float32 and float64
// components and int64 labels. The readers of binary vectors and labels use it.
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

/// Returns the number type that a NumPy type name stands for. The name is one character for the
/// byte order, followed by f2, f4, f8, i1, i2, i4, i8, u1, u2, u4 or u8. The character is '<', '>',
/// '=' (this machine's order) or '|' (only for single bytes). Returns std::nullopt for any other
/// name.
std::optional<NumberType> number_type_from_numpy(std::string_view name);

/// Fills `components` with the numbers at `first`, `first + stride_bytes` and so on, each rounded
/// once to the nearest float32. A finite number beyond the range of float32 becomes the largest
/// float32 of the same sign, never an infinity.
void read_components(const NumberType& type, const std::byte* first, std::size_t stride_bytes,
                     std::span<float> components);

/// As read_components(), but rounds each number to float64.
void read_numbers(const NumberType& type, const std::byte* first, std::size_t stride_bytes,
                  std::span<double> numbers);

/// Returns whether float32 holds every number of the type.
bool fits_float32(const NumberType& type);

/// Returns the integer at address `at`, or std::nullopt if int64 cannot hold it.
std::optional<std::int64_t> read_integer(const NumberType& type, const std::byte* at);

/// Returns the number at address `at`, rounded once to float64.
double read_number(const NumberType& type, const std::byte* at);

/// Returns the float32 nearest to `number`, which must be finite. The result is never an infinity.
float finite_float32(double number);

}  // namespace starling::sim
