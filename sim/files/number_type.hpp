// How binary files store numbers, and what they become here: float32 components and int64 labels.
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

/// By its name in NumPy: '<' or '>' ('|' and '=' where bytes have no order or this machine's), then
/// f2, f4, f8, i1 to i8 or u1 to u8.
std::optional<NumberType> number_type_from_numpy(std::string_view name);

/// Fills `components` with the numbers that stand `stride_bytes` apart from `first` on, each
/// rounded once to the nearest float32; finite ones beyond float32 become its largest, so that they
/// are told from infinities.
void read_components(const NumberType& type, const std::byte* first, std::size_t stride_bytes,
                     std::span<float> components);

/// Nothing if the integer is beyond int64.
std::optional<std::int64_t> read_integer(const NumberType& type, const std::byte* at);

/// The nearest float32 to a finite number, never an infinity.
float finite_float32(double number);

}  // namespace starling::sim
