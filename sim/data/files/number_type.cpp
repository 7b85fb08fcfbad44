// SPDX-License-Identifier: Apache-2.0
// Each number type and byte order has one small function that reads such numbers. The function is
// chosen once for many numbers: see number_type.hpp.
#include "starling/sim/data/files/number_type.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace starling::sim {
namespace {

/// IEEE 754 binary16, for which C++20 has no type.
struct Half {
  std::uint16_t bits;
};

template <class Number>
struct BitsOf {
  using Type = std::make_unsigned_t<Number>;
};
template <>
struct BitsOf<float> {
  using Type = std::uint32_t;
};
template <>
struct BitsOf<double> {
  using Type = std::uint64_t;
};
template <>
struct BitsOf<Half> {
  using Type = std::uint16_t;
};

template <class Bits>
Bits reversed(Bits bits) {
  std::byte bytes[sizeof(Bits)];
  std::memcpy(bytes, &bits, sizeof(bits));
  std::reverse(std::begin(bytes), std::end(bytes));
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

template <class Number, bool is_reversed>
Number load(const std::byte* at) {
  typename BitsOf<Number>::Type bits{};
  std::memcpy(&bits, at, sizeof(bits));
  if constexpr (is_reversed) bits = reversed(bits);
  return std::bit_cast<Number>(bits);
}

float to_float32(Half half) {
  const int exponent = half.bits >> 10 & 0x1F;
  const int fraction = half.bits & 0x3FF;
  float magnitude = 0;
  if (exponent == 0x1F)
    magnitude = fraction == 0 ? std::numeric_limits<float>::infinity()
                              : std::numeric_limits<float>::quiet_NaN();
  else if (exponent == 0)
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  else
    magnitude = std::ldexp(static_cast<float>(fraction | 0x400), exponent - 25);
  return (half.bits & 0x8000) != 0 ? -magnitude : magnitude;
}

float to_float32(double number) {
  return std::isfinite(number) ? finite_float32(number) : static_cast<float>(number);
}

template <class Number>
float to_float32(Number number) {
  return static_cast<float>(number);
}

template <class To, class Number>
To converted(Number number) {
  if constexpr (std::is_same_v<To, float> || std::is_same_v<Number, Half>)
    return to_float32(number);
  else
    return static_cast<double>(number);
}

template <class Number, bool is_reversed, class To>
void read_all(const std::byte* at, std::size_t stride_bytes, std::span<To> components) {
  for (To& component : components) {
    component = converted<To>(load<Number, is_reversed>(at));
    at += stride_bytes;
  }
}

template <class Number, bool is_reversed>
std::optional<std::int64_t> read_one(const std::byte* at) {
  const Number number = load<Number, is_reversed>(at);
  if (!std::in_range<std::int64_t>(number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

bool is_foreign(const NumberType& type) {
  return type.bytes > 1 && type.big_endian != (std::endian::native == std::endian::big);
}

/// Calls `action` with two arguments and returns its result. The first is a zero of the C++ integer
/// type that `type` names. The second is std::true_type if the bytes of these integers must be
/// reversed, and std::false_type otherwise.
template <class Action>
auto with_integer(const NumberType& type, const Action& action) {
  const auto in_order = [&](auto number) {
    return is_foreign(type) ? action(number, std::true_type()) : action(number, std::false_type());
  };
  const bool is_signed = type.kind == NumberType::Kind::signed_integer;
  switch (type.bytes) {
    case 1:
      return is_signed ? in_order(std::int8_t{}) : in_order(std::uint8_t{});
    case 2:
      return is_signed ? in_order(std::int16_t{}) : in_order(std::uint16_t{});
    case 4:
      return is_signed ? in_order(std::int32_t{}) : in_order(std::uint32_t{});
    default:
      return is_signed ? in_order(std::int64_t{}) : in_order(std::uint64_t{});
  }
}

template <class To>
using Reader = void (*)(const std::byte*, std::size_t, std::span<To>);

template <class Number, class To>
Reader<To> reader_of(bool reverses) {
  return reverses ? &read_all<Number, true, To> : &read_all<Number, false, To>;
}

template <class To>
Reader<To> reader_of(const NumberType& type) {
  if (type.is_integer())
    return with_integer(type, [](auto number, auto reverses) -> Reader<To> {
      return &read_all<decltype(number), reverses.value, To>;
    });
  if (type.bytes == 2) return reader_of<Half, To>(is_foreign(type));
  return type.bytes == 4 ? reader_of<float, To>(is_foreign(type))
                         : reader_of<double, To>(is_foreign(type));
}

}  // namespace

std::optional<NumberType> number_type_from_numpy(std::string_view name) {
  using Kind = NumberType::Kind;
  if (name.size() != 3) return std::nullopt;
  NumberType type;
  if (name[1] == 'f')
    type.kind = Kind::floating;
  else if (name[1] == 'i')
    type.kind = Kind::signed_integer;
  else if (name[1] == 'u')
    type.kind = Kind::unsigned_integer;
  else
    return std::nullopt;
  if (std::string_view("1248").find(name[2]) == std::string_view::npos) return std::nullopt;
  type.bytes = static_cast<std::uint8_t>(name[2] - '0');
  if (type.bytes == 1 && !type.is_integer()) return std::nullopt;
  if (std::string_view("<>=|").find(name[0]) == std::string_view::npos) return std::nullopt;
  if (name[0] == '|' && type.bytes > 1) return std::nullopt;
  type.big_endian = name[0] == '>' || (name[0] == '=' && std::endian::native == std::endian::big);
  if (type.bytes == 1) type.big_endian = false;
  return type;
}

void read_components(const NumberType& type, const std::byte* first, std::size_t stride_bytes,
                     std::span<float> components) {
  reader_of<float>(type)(first, stride_bytes, components);
}

void read_numbers(const NumberType& type, const std::byte* first, std::size_t stride_bytes,
                  std::span<double> numbers) {
  reader_of<double>(type)(first, stride_bytes, numbers);
}

bool fits_float32(const NumberType& type) {
  return type.is_integer() ? type.bytes <= 2 : type.bytes <= 4;
}

std::optional<std::int64_t> read_integer(const NumberType& type, const std::byte* at) {
  return with_integer(type, [at](auto number, auto reverses) {
    return read_one<decltype(number), reverses.value>(at);
  });
}

double read_number(const NumberType& type, const std::byte* at) {
  double number = 0;
  read_numbers(type, at, type.bytes, {&number, 1});
  return number;
}

float finite_float32(double number) {
  constexpr double largest = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(number, -largest, largest));
}

}  // namespace starling::sim
