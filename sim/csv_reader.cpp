// RFC 4180 byte by byte over a buffer: see csv_reader.hpp.
#include "sim/csv_reader.hpp"

#include <algorithm>

namespace starling::sim {
namespace {

constexpr std::size_t buffer_bytes = 256 << 10;
constexpr int end_of_file = -1;

/// The first line of data or of a header: a header that is itself a comment parts as its data does.
std::string_view telling_line(std::string_view text) {
  const std::string_view first = text.substr(0, text.find('\n'));
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (!line.empty() && line != "\r" && line.front() != '#') return line;
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return first;
}

/// How often it parts the line's fields, if it does.
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

}  // namespace

CsvReader::CsvReader(TextInput& input) : input_(input), buffer_(buffer_bytes) {
  peek();
  const std::string_view text(buffer_.data(), filled_);
  position_ = text.size() - without_byte_order_mark(text).size();
  separator_ = find_separator(text.substr(position_));
}

bool CsvReader::next(std::vector<Field>& fields) {
  do {
    if (peek() == end_of_file) return false;
    read_record();
  } while (spans_.size() == 1 && spans_[0].begin == spans_[0].end);
  fields.clear();
  for (const FieldSpan& span : spans_)
    fields.push_back({std::string_view(record_).substr(span.begin, span.end - span.begin),
                      span.line, span.column});
  return true;
}

void CsvReader::read_record() {
  record_.clear();
  spans_.clear();
  begin_field();
  for (;;) {
    const int byte = peek();
    if (byte == '"' && record_.size() == spans_.back().begin) {
      read_quoted();
      continue;
    }
    if (byte != end_of_file) take();
    if (byte == '\r' && peek() == '\n') continue;
    if (byte == '\n' || byte == end_of_file) break;
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
  take();
  for (;;) {
    const int byte = peek();
    if (byte == end_of_file)
      throw TraceError(input_.path(), spans_.back().line, spans_.back().column,
                       "the quote that opens here is never closed");
    take();
    if (byte == '"') {
      if (peek() != '"') return;
      take();
    }
    append(static_cast<char>(byte));
  }
}

void CsvReader::append(char byte) {
  if (record_.size() == record_bytes_max)
    throw TraceError(input_.path(), spans_.front().line, spans_.front().column,
                     "the record that begins here is longer than " +
                         std::to_string(record_bytes_max) + " bytes; is a quote left open?");
  record_.push_back(byte);
}

void CsvReader::begin_field() {
  spans_.push_back({record_.size(), record_.size(), line_, column_});
}

void CsvReader::end_field() {
  spans_.back().end = record_.size();
}

int CsvReader::peek() {
  if (position_ == filled_ && !at_end_) {
    filled_ = input_.read(buffer_);
    position_ = 0;
    at_end_ = filled_ < buffer_.size();
  }
  return position_ == filled_ ? end_of_file : static_cast<unsigned char>(buffer_[position_]);
}

void CsvReader::take() {
  if (buffer_[position_] == '\n') {
    ++line_;
    column_ = 1;
  } else {
    ++column_;
  }
  ++position_;
}

}  // namespace starling::sim
