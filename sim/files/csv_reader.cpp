// SPDX-License-Identifier: Apache-2.0
// Parses RFC 4180 byte by byte: see csv_reader.hpp.
#include "starling/sim/files/csv_reader.hpp"

#include <algorithm>

#include "starling/sim/files/number_text.hpp"

namespace starling::sim {
namespace {

/// Returns the line from which the separator is detected. This is the first line that is neither
/// blank nor a comment, or the first line if all lines are blank or comments. A header that begins
/// with '#' may be skipped, because the data below it have the same separator.
std::string_view telling_line(std::string_view text) {
  const std::string_view first = text.substr(0, text.find('\n'));
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (!line.empty() && line != "\r" && line.front() != '#') return line;
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return first;
}

/// Returns how often `separator` occurs outside quotes.
std::size_t count_unquoted(std::string_view line, char separator) {
  std::size_t count = 0;
  bool quoted = false;
  char before = separator;
  for (const char byte : line) {
    if (byte == '"' && (quoted || before == separator)) quoted = !quoted;
    if (byte == separator && !quoted) ++count;
    before = byte;
  }
  return count;
}

char find_separator(std::string_view text) {
  const std::string_view line = telling_line(text);
  char separator = ' ';
  std::size_t count = 0;
  for (const char candidate : std::string_view(",;\t|"))
    if (const std::size_t found = count_unquoted(line, candidate); found > count) {
      separator = candidate;
      count = found;
    }
  return separator;
}

std::string_view without_comment_mark(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of('#'), text.size()));
  return trim(text);
}

}  // namespace

CsvReader::CsvReader(TextInput& input)
    : bytes_(input), separator_(find_separator(bytes_.buffered())) {}

bool CsvReader::next(std::vector<Field>& fields) {
  do {
    if (bytes_.peek() == ByteReader::end_of_file) return false;
    read_record();
  } while (spans_.size() == 1 && spans_[0].begin == spans_[0].end && !has_quotes_);
  fields.clear();
  for (const FieldSpan& span : spans_)
    fields.push_back({std::string_view(record_).substr(span.begin, span.end - span.begin),
                      span.line, span.column});
  return true;
}

void CsvReader::read_record() {
  record_.clear();
  spans_.clear();
  has_quotes_ = false;
  const bool is_comment = bytes_.peek() == '#';
  begin_field();
  for (;;) {
    const int byte = bytes_.peek();
    if (byte == '"' && !is_comment && record_.size() == spans_.back().begin) {
      has_quotes_ = true;
      read_quoted();
      continue;
    }
    if (byte != ByteReader::end_of_file) bytes_.take();
    if (byte == '\r' && bytes_.peek() == '\n') continue;
    if (byte == '\n' || byte == ByteReader::end_of_file) break;
    if (byte == separator_) {
      end_field();
      begin_field();
    } else {
      append(static_cast<char>(byte));
    }
  }
  end_field();
}

void CsvReader::read_quoted() {
  bytes_.take();
  for (;;) {
    const int byte = bytes_.peek();
    if (byte == ByteReader::end_of_file)
      throw InputError(bytes_.path(), spans_.back().line, spans_.back().column,
                       "the quote that opens here is never closed");
    bytes_.take();
    if (byte == '"') {
      if (bytes_.peek() != '"') return;
      bytes_.take();
    }
    append(static_cast<char>(byte));
  }
}

void CsvReader::append(char byte) {
  if (record_.size() == record_bytes_max)
    throw InputError(bytes_.path(), spans_.front().line, spans_.front().column,
                     "the record that begins here is longer than " +
                         std::to_string(record_bytes_max) + " bytes; is a quote left open?");
  record_.push_back(byte);
}

void CsvReader::begin_field() {
  spans_.push_back({record_.size(), record_.size(), bytes_.line(), bytes_.column()});
}

void CsvReader::end_field() {
  spans_.back().end = record_.size();
}

std::vector<std::string> texts_of(std::span<const Field> fields) {
  std::vector<std::string> texts;
  texts.reserve(fields.size());
  for (const Field& field : fields) texts.emplace_back(field.text);
  return texts;
}

std::optional<std::size_t> find_column(std::span<const std::string> header, std::string_view name) {
  for (std::size_t index = 0; index < header.size(); ++index) {
    const std::string_view text = trim(header[index]);
    if (text == name || (index == 0 && without_comment_mark(text) == name)) return index;
  }
  return std::nullopt;
}

}  // namespace starling::sim
