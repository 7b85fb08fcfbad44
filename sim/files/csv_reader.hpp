// SPDX-License-Identifier: Apache-2.0
// Reads the records of a CSV file as RFC 4180 defines them, with quotes, doubled quotes, and line
// breaks within quotes. Lines end in CRLF or LF; the final line break may be missing. The file may
// begin with a byte order mark. Commas, semicolons, tabs, vertical bars or spaces separate the
// fields. The readers of traces, queries, requests and vectors use CsvReader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/sim/files/byte_reader.hpp"
#include "starling/sim/files/errors.hpp"

namespace starling::sim {

class CsvReader {
 public:
  /// A record with more bytes is an error, most likely because a quote was left open.
  static constexpr std::size_t record_bytes_max = 1 << 20;

  /// Detects the separator from the first line that is not blank and does not begin with '#'. The
  /// separator is whichever of `,` `;` tab and `|` occurs most often outside quotes in this line.
  /// If none of them occurs, the separator is a space.
  explicit CsvReader(TextInput& input);

  /// Fills `fields` with the next record and returns true, or returns false at the end of the file.
  /// The fields are valid until the next call. Skips blank lines. A quote inside an unquoted field,
  /// or in a line that begins with '#', is an ordinary character. Throws InputError if a quote is
  /// left open.
  bool next(std::vector<Field>& fields);

 private:
  void begin_field();
  void end_field();
  void read_quoted();
  void read_record();
  void append(char byte);

  struct FieldSpan {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::uint64_t line = 0;
    std::uint64_t column = 0;
  };

  ByteReader bytes_;
  char separator_;
  std::string record_;  ///< the fields' text without enclosing quotes and separators
  bool has_quotes_ = false;
  std::vector<FieldSpan> spans_;
};

/// Returns copies of the fields' texts. The copies stay valid when the next record is read.
std::vector<std::string> texts_of(std::span<const Field> fields);

/// Returns the index of the column `name` in `header`, or std::nullopt if there is none. A '#' at
/// the start of the header is not part of the first column's name, unless `name` begins with '#'
/// too.
std::optional<std::size_t> find_column(std::span<const std::string> header, std::string_view name);

}  // namespace starling::sim
