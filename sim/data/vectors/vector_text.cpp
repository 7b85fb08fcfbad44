// SPDX-License-Identifier: Apache-2.0
// Parses with std::from_chars, recognises headers and words the errors: see vector_text.hpp.
#include "starling/sim/data/vectors/vector_text.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>

#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/files/number_type.hpp"
#include "starling/sim/data/files/quoted_text.hpp"

namespace starling::sim {
namespace {

/// Rounds a number that overflows or underflows float32. std::from_chars does not distinguish the
/// two cases, but std::strtof does. std::strtof needs the "C" locale, which the program never
/// changes.
float round_extreme(std::string_view text) {
  const std::string terminated(text);
  const float nearest = std::strtof(terminated.c_str(), nullptr);
  constexpr float largest = std::numeric_limits<float>::max();
  return std::clamp(nearest, -largest, largest);
}

/// Returns true if `number` may be halfway between two float32 while the text's digits are not.
/// Rounding `number` could then differ from rounding the digits.
bool needs_digits(double number) {
  constexpr std::uint64_t dropped_bits = (std::uint64_t{1} << 29) - 1;
  constexpr std::uint64_t half = std::uint64_t{1} << 28;
  const bool is_subnormal = std::fabs(number) < double{std::numeric_limits<float>::min()};
  return is_subnormal || (std::bit_cast<std::uint64_t>(number) & dropped_bits) == half;
}

float round_digits(std::string_view text) {
  float rounded = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rounded);
  return error == std::errc::result_out_of_range ? round_extreme(text) : rounded;
}

}  // namespace

std::string_view without_plus(std::string_view number) {
  if (number.starts_with('+') && !number.starts_with("+-")) number.remove_prefix(1);
  return number;
}

std::optional<Component> parse_component(std::string_view text) {
  text = without_plus(trim(text));
  Component component;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, component.exact);
  if (end != last || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    component.rounded = round_extreme(text);
    component.exact = component.rounded;
  } else if (needs_digits(component.exact)) {
    component.rounded = round_digits(text);
  } else {
    component.rounded = std::isfinite(component.exact) ? finite_float32(component.exact)
                                                       : static_cast<float>(component.exact);
  }
  return component;
}

bool NumberRecords::next(std::vector<Field>& fields) {
  for (;;) {
    if (!reader_.next(fields)) return false;
    if (fields.front().text.starts_with('#')) continue;
    const bool may_be_header = !std::exchange(is_past_header_, true);
    if (may_be_header && is_header(fields)) continue;
    return true;
  }
}

bool NumberRecords::is_header(const std::vector<Field>& fields) {
  const auto is_number = [](const Field& field) { return parse_component(field.text).has_value(); };
  const auto is_empty = [](const Field& field) { return trim(field.text).empty(); };
  return std::ranges::none_of(fields, is_number) && !std::ranges::all_of(fields, is_empty);
}

void check_field_count(const std::string& path, const std::vector<Field>& fields,
                       std::size_t count) {
  if (fields.size() == count) return;
  const Field& last = fields.back();
  const Field missing{{}, last.line, last.column + last.text.size()};
  const Field& place = fields.size() < count ? missing : fields[count];
  throw InputError(path, place.line, place.column,
                   "the row has " + std::to_string(fields.size()) +
                       (fields.size() == 1 ? " field" : " fields") + ", but the first row has " +
                       std::to_string(count));
}

void refuse_number(const std::string& path, const Field& field, std::string_view wanted) {
  const std::string_view text = trim(field.text);
  if (text.empty())
    throw InputError(path, field.line, field.column,
                     "the field is empty; it must be " + std::string(wanted));
  throw InputError(path, field.line, field.column,
                   quoted_text(text) + " is not " + std::string(wanted));
}

}  // namespace starling::sim
