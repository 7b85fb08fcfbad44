// Records of a CSV file by RFC 4180: quotes, doubled quotes, line breaks within quotes, CRLF or LF,
// a byte order mark, no final line break needed; and by what people call CSV: fields parted by
// semicolons, tabs, bars or spaces. The CSV layouts and the query file read with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/files/byte_reader.hpp"
#include "sim/traces/trace.hpp"

namespace starling::sim {

class CsvReader {
 public:
  /// A longer record is taken for a quote left open, and an error.
  static constexpr std::size_t record_bytes_max = 1 << 20;

  /// Looks for what parts the fields: whichever of `,` `;` tab `|` stands most often, outside
  /// quotes, in the first line that doesn't begin with '#'; spaces where there is none of these.
  explicit CsvReader(TextInput& input);

  /// The next record's fields, valid until the next call; false at the end. Blank lines are passed
  /// over. A quote within an unquoted field stands for itself, as do all in a line that begins with
  /// '#'. Throws TraceError if a quote is left open.
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
  std::string record_;  ///< the fields' text, quotes undone, without separators
  bool has_quotes_ = false;
  std::vector<FieldSpan> spans_;
};

}  // namespace starling::sim
