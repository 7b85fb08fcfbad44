// SPDX-License-Identifier: Apache-2.0
// Writes numbers, tag bits and times in the spellings of docs/traces.md. The caller knows the value
// and chooses the style; a random generator chooses among the spellings that the style allows.
// Shares no code with the readers, so that the tests of generated tables can use it as an oracle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "starling/knn/base/time_text.hpp"
#include "tests/support/random.hpp"

namespace starling::sim {

/// A decimal number as digits. Its value does not depend on its spelling.
struct Decimal {
  bool is_negative = false;
  std::string digits;        ///< all digits, without the point; one at least before it
  std::size_t decimals = 0;  ///< the number of digits after the point

  std::string plain(char mark = '.') const;
  double value() const;  ///< the number that strtod() reads in plain()
};

/// Returns a number with `whole_below` as the limit of its absolute value.
Decimal draw_decimal(test::Random& random, std::uint64_t whole_below, std::size_t decimals);

/// Returns the number with a sign, an exponent, or more or fewer zeros.
std::string spelled(test::Random& random, const Decimal& number, char mark);

/// Returns tag bits in decimal or hexadecimal.
std::string spelled_tags(test::Random& random, std::uint32_t tags, char mark);

enum class TimeForm : std::uint8_t {
  number,
  date,       ///< 2022-01-03 or 2022/1/3
  basic,      ///< 20220103T001000
  points,     ///< 03.01.2022
  year_last,  ///< 03/01/2022
};

struct TimeStyle {
  TimeForm form = TimeForm::number;
  TimeUnit unit = TimeUnit::seconds;
  bool unit_is_told = false;  ///< whether options tell the unit; if not, the magnitude must show it
  DateOrder order = DateOrder::unknown;
  std::int64_t utc_offset_us = 0;  ///< offset of times without a zone
  bool is_apart = false;           ///< date and clock time are two fields
  bool is_narrow = false;          ///< no blanks except between date and clock time
  char glue = '\0';                ///< T or a space between date and clock time; 0: either
  char mark = '.';                 ///< mark before the fraction of a number
  bool has_comma = false;          ///< a comma before the fraction of a second
};

struct SpelledTime {
  std::string text;
  std::string clock{};  ///< the clock time of a style that is_apart
};

/// Returns microseconds since the epoch that the style can spell.
std::int64_t draw_time_us(test::Random& random, const TimeStyle& style);
SpelledTime spelled_time(test::Random& random, std::int64_t time_us, const TimeStyle& style);

}  // namespace starling::sim
