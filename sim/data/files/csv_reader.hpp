// SPDX-License-Identifier: Apache-2.0
// Reads the records of a CSV file as RFC 4180 defines them, with quotes, doubled quotes, and line
// breaks within quotes. A line ends in LF, CRLF or CR; one file may mix them, and the final line
// break may be missing. Commas, semicolons, tabs, vertical bars or blanks separate the fields. The
// readers of traces, queries, requests and vectors use CsvReader, and so does `starling put`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/text_input.hpp"

namespace starling::sim {

class CsvReader {
 public:
  /// A record with more bytes is an error, most likely because a quote was left open.
  static constexpr std::size_t record_bytes_max = 1 << 20;

  /// Detects the separator in the first line that is not blank and does not begin with '#', and
  /// looks no further. The separator is the mark among `;` `,` tab and `|` that occurs most often
  /// outside quotes in this line. Without any of these marks, runs of spaces and tabs separate the
  /// fields. A first line such as "sep=;" names the separator instead.
  explicit CsvReader(TextInput& input) : CsvReader(input, std::nullopt) {}
  /// Uses `separator` if it has a value; otherwise detects the separator.
  CsvReader(TextInput& input, std::optional<char> separator);

  char separator() const { return separator_; }

  /// Fills `fields` with the next record and returns true, or returns false at the end of the file.
  /// The fields are valid until the next call. Skips blank lines. If blanks separate the fields, no
  /// field is empty. A quote inside an unquoted field is an ordinary character. Throws InputError
  /// if a quote is left open, but in a line that begins with '#' such a quote is an ordinary
  /// character.
  bool next(std::vector<Field>& fields);

  /// From the next record on, '#' is an ordinary character.
  void end_comments() { has_comments_ = false; }

 private:
  /// What a byte of an unquoted field means.
  enum class Means : std::uint8_t { itself, separator, line_end, perhaps_end_of_buffer };

  /// A field of the record, as offsets from the record's first byte.
  struct FieldSpan {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::uint64_t line = 0;
    std::uint64_t column = 0;
  };

  std::optional<char> take_named_separator();
  char find_separator();
  bool begin_record();
  void read_record();
  void read_quoted();
  bool closes_in_line();
  Means read_unquoted();
  void keep(std::size_t end);
  void skip_blanks();
  bool has_byte() { return begin_ + at_ < filled_ || fill(); }
  char byte() const { return buffer_[begin_ + at_]; }
  Means meaning(char byte) const { return means_[static_cast<unsigned char>(byte)]; }
  bool fill();
  void check_length() const;

  TextInput& input_;
  std::uint64_t line_ = 1;
  std::uint64_t record_line_ = 1;  ///< line in which the record begins
  bool is_after_cr_ = false;       ///< the last byte was CR; LF now ends the same line
  char separator_;
  bool has_comments_ = true;
  std::array<Means, 256> means_{};

  std::vector<char> buffer_;
  std::size_t begin_ = 0;   ///< the record's first byte in buffer_
  std::size_t filled_ = 0;  ///< the end of the text in buffer_
  bool is_at_end_ = false;

  // The next three are offsets from the record's first byte.
  std::size_t at_ = 0;          ///< the next byte
  std::size_t kept_ = 0;        ///< the end of the field so far; its quotes are left out
  std::size_t line_begin_ = 0;  ///< the first byte of the line

  bool has_quotes_ = false;
  std::vector<FieldSpan> spans_;
};

/// Returns copies of the fields' texts. The copies stay valid when the next record is read.
std::vector<std::string> texts_of(std::span<const Field> fields);

/// Returns the index of the column `name` in `header`, or std::nullopt if there is none. A '#' at
/// the start of the header is not part of the first column's name, unless `name` begins with '#'
/// too.
std::optional<std::size_t> find_column(std::span<const std::string> header, std::string_view name);

/// Returns true if `text` is a clock time without a date: 1:05, 01:05:09.5, or 010509 as NMEA has
/// it.
bool is_clock(std::string_view text);

/// Returns the date, a space and the clock time, with colons.
std::string joined_time(std::string_view date, std::string_view clock);

/// Returns the time of a record with one column for the date and one for the clock time: both
/// joined, as a view of `time`. If `clock` has the date, too, or is a number of seconds since 1970,
/// returns `clock`. Returns an empty text if either value is missing.
std::string_view time_of(std::string_view date, std::string_view clock, std::string& time);

/// If the field at `index` is a date and the next one a clock time with colons, joins both in the
/// field at `index`. If blanks separate the fields, "7 2022-01-03 00:10:00" has such a pair. The
/// second field is removed unless `keeps_places` is set. `time` gets the text of the joined field
/// and must live as long as the fields.
void join_split_time(std::vector<Field>& fields, std::size_t index, bool keeps_places,
                     std::string& time);

/// Returns the first non-empty field after the header's `width` columns, or null.
const Field* find_beyond(std::span<const Field> fields, std::size_t width);

/// Returns an error's sentence for a field with `text` after the header's last column.
std::string beyond_the_header(std::string_view text);

}  // namespace starling::sim
