// SPDX-License-Identifier: Apache-2.0
// Adds a check to each option with a number type. The check runs before all other checks: see
// strict_numbers.hpp.
#include "starling/apps/shared/strict_numbers.hpp"

#include <cctype>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "starling/sim/data/files/number_text.hpp"

namespace starling::apps {
namespace {

bool is_digit(char byte) {
  return std::isdigit(static_cast<unsigned char>(byte)) != 0;
}

/// Returns a sentence that says what is wrong with the number, or an empty text if nothing is.
std::string fault_of_integer(std::string_view text, bool is_signed) {
  if (text.starts_with('-') && !is_signed) return std::string(text) + " is less than 0";
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const bool has_prefix =
      text.size() > 1 && text[0] == '0' && (is_digit(text[1]) || std::isalpha(text[1]) != 0);
  if (!has_prefix) return {};
  return std::string(text) + " begins with 0; write a decimal number without it";
}

/// Returns what is wrong with a floating-point number, or an empty text. CLI11 rounds a text to
/// long double and then to float64, which may not give the float64 nearest to the text. If it does
/// not, this function replaces `text` by the nearest float64 in hexadecimal, which CLI11 reads
/// without rounding.
std::string fault_of_float(std::string& text) {
  double number = 0;
  if (!CLI::detail::lexical_cast(text, number)) return {};
  if (!std::isfinite(number)) return text + " is not a finite number";
  const std::optional<double> nearest = sim::parse_number(text);
  if (!nearest || *nearest == number) return {};
  char exact[32];
  std::snprintf(exact, sizeof(exact), "%a", *nearest);
  text = exact;
  return {};
}

}  // namespace

void make_numbers_strict(CLI::App& app) {
  for (CLI::Option* const option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type.starts_with("FLOAT")) {
      option->transform(CLI::Validator(fault_of_float, ""));
    } else if (type.starts_with("INT") || type.starts_with("UINT") || type.starts_with("COUNT") ||
               type.starts_with("BYTES")) {
      const bool is_signed = type.starts_with("INT");
      option->transform(CLI::Validator(
          [is_signed](std::string& text) { return fault_of_integer(text, is_signed); }, ""));
    }
  }
  for (CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; }))
    make_numbers_strict(*command);
}

}  // namespace starling::apps
