// SPDX-License-Identifier: Apache-2.0
// Searches large blocks of text for the ends of fields, and returns fields as views into the block:
// see csv_reader.hpp.
#include "starling/sim/data/files/csv_reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/files/quoted_text.hpp"

namespace starling::sim {
namespace {

constexpr std::size_t telling_bytes_max = 64 << 10;
constexpr std::string_view line_ends = "\r\n";
constexpr std::string_view separators = ";,\t|";  // the first wins at equal counts

bool is_blank(char byte) {
  return byte == ' ' || byte == '\t';
}

/// Returns the line from which the separator is detected: the first line that is neither blank nor
/// a comment. A header that begins with '#' may be skipped, because the data below it have the same
/// separator. `is_whole` means that no text follows. If `text` then has only comments, returns the
/// last of them, because it may be a record whose id begins with '#'. Returns std::nullopt if the
/// line may go on after `text`.
std::optional<std::string_view> telling_line(std::string_view text, bool is_whole) {
  std::string_view comment;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find_first_of(line_ends));
    if (line.size() == text.size() && !is_whole) return std::nullopt;
    if (line.starts_with('#')) {
      comment = line;
    } else if (!trim(line).empty()) {
      return line;
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return is_whole ? std::optional(comment) : std::nullopt;
}

/// Returns how often `separator` occurs outside quotes. A quote opens after any separator, because
/// the file's separator is not known yet.
std::size_t count_unquoted(std::string_view line, char separator) {
  std::size_t count = 0;
  bool quoted = false;
  char before = separator;
  for (const char byte : line) {
    if (byte == '"' && (quoted || is_blank(before) || separators.find(before) != separators.npos))
      quoted = !quoted;
    if (byte == separator && !quoted) ++count;
    before = byte;
  }
  return count;
}

char separator_in(std::string_view line) {
  char separator = ' ';
  std::size_t count = 0;
  for (const char candidate : separators)
    if (const std::size_t found = count_unquoted(line, candidate); found > count) {
      separator = candidate;
      count = found;
    }
  return separator;
}

/// Returns true for three numbers with the same mark between them, such as 2022-01-03.
bool is_date(std::string_view text) {
  constexpr std::string_view digits = "0123456789";
  constexpr std::size_t bytes_max = 10;
  const std::size_t first = text.find_first_not_of(digits);
  if (first == std::string_view::npos || first == 0 || text.size() > bytes_max) return false;
  const char mark = text[first];
  const std::size_t second = text.find_first_not_of(digits, first + 1);
  return (mark == '-' || mark == '/' || mark == '.') && second != std::string_view::npos &&
         second > first + 1 && text[second] == mark && second + 1 < text.size() &&
         text.find_first_not_of(digits, second + 1) == std::string_view::npos;
}

std::string_view without_comment_mark(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of('#'), text.size()));
  return trim(text);
}

}  // namespace

CsvReader::CsvReader(TextInput& input, std::optional<char> separator)
    : input_(input), separator_(separator ? *separator : find_separator()) {
  const auto mean = [this](char byte, Means means) {
    means_[static_cast<unsigned char>(byte)] = means;
  };
  mean(separator_, Means::separator);
  if (separator_ == ' ') mean('\t', Means::separator);
  for (const char byte : line_ends) mean(byte, Means::line_end);
  mean('\0', Means::perhaps_end_of_buffer);
}

/// Takes a first line such as "sep=;", which spreadsheets write, and returns the separator that it
/// names. Takes nothing and returns std::nullopt if there is no such line.
std::optional<char> CsvReader::take_named_separator() {
  constexpr std::string_view key = "sep=";
  constexpr std::size_t bytes = key.size() + 2;
  if (!input_.head(1).starts_with(key[0])) return std::nullopt;
  const std::string_view head = input_.head(bytes);
  if (!head.starts_with(key) || head.size() < bytes || line_ends.find(head[5]) == line_ends.npos ||
      separators.find(head[4]) == separators.npos)
    return std::nullopt;
  const char separator = head[4];
  std::array<char, bytes> line{};
  input_.read(line);
  is_after_cr_ = line.back() == '\r';
  ++line_;
  return separator;
}

char CsvReader::find_separator() {
  if (const auto named = take_named_separator()) return *named;
  for (std::size_t bytes = 1;;) {
    const std::string_view text = input_.head(bytes);
    const bool is_whole = text.size() < bytes || text.size() >= telling_bytes_max;
    if (const auto line = telling_line(text, is_whole)) return separator_in(*line);
    bytes = text.size() + 1;
  }
}

bool CsvReader::next(std::vector<Field>& fields) {
  do {
    if (!begin_record()) return false;
    read_record();
  } while (spans_.size() == 1 && spans_[0].begin == spans_[0].end && !has_quotes_);
  fields.clear();
  const std::string_view record(buffer_.data() + begin_, at_);
  for (const FieldSpan& span : spans_)
    fields.push_back({record.substr(span.begin, span.end - span.begin), span.line, span.column});
  return true;
}

bool CsvReader::begin_record() {
  begin_ += std::exchange(at_, 0);
  line_begin_ = 0;
  record_line_ = line_;
  if (std::exchange(is_after_cr_, false) && has_byte() && byte() == '\n') ++begin_;
  return has_byte();
}

void CsvReader::read_record() {
  spans_.clear();
  has_quotes_ = false;
  const bool is_comment = has_comments_ && byte() == '#';
  const bool has_blanks = separator_ == ' ';
  if (has_blanks) skip_blanks();
  for (Means end = Means::separator; end == Means::separator;) {
    spans_.push_back({at_, at_, line_, at_ - line_begin_ + 1});
    kept_ = at_;
    if (has_byte() && byte() == '"' && (!is_comment || closes_in_line())) read_quoted();
    end = read_unquoted();
    spans_.back().end = kept_;
    if (end != Means::separator || !has_blanks) continue;
    skip_blanks();
    if (!has_byte() || meaning(byte()) == Means::line_end) end = read_unquoted();
  }
  check_length();
}

/// Reads up to the end of the field, takes the separator or line end there, and returns which of
/// the two it was.
CsvReader::Means CsvReader::read_unquoted() {
  for (;;) {
    const char* const record = buffer_.data() + begin_;
    const char* end = record + at_;
    while (meaning(*end) == Means::itself) ++end;
    keep(static_cast<std::size_t>(end - record));
    switch (meaning(*end)) {
      case Means::separator:
        ++at_;
        return Means::separator;
      case Means::line_end:
        is_after_cr_ = *end == '\r';
        ++at_;
        ++line_;
        return Means::line_end;
      case Means::perhaps_end_of_buffer:
        if (begin_ + at_ < filled_)
          keep(at_ + 1);  // this zero belongs to the text
        else if (!fill())
          return Means::line_end;
        break;
      case Means::itself:
        break;
    }
  }
}

/// Reads the quoted part of a field, from its opening quote to its closing quote.
void CsvReader::read_quoted() {
  has_quotes_ = true;
  spans_.back().begin = kept_ = ++at_;
  bool is_after_cr = false;
  for (;;) {
    const std::string_view text(buffer_.data() + begin_ + at_, filled_ - begin_ - at_);
    const std::size_t length = std::min(text.find('"'), text.size());
    for (std::size_t i = 0; i < length; ++i) {
      const bool is_cr = text[i] == '\r';
      if (is_cr || text[i] == '\n') {
        if (is_cr || !is_after_cr) ++line_;
        line_begin_ = at_ + i + 1;
      }
      is_after_cr = is_cr;
    }
    keep(at_ + length);
    if (length == text.size()) {
      if (fill()) continue;
      const FieldSpan& field = spans_.back();
      throw InputError(input_.path(), field.line, field.column,
                       "the quote that opens here is never closed");
    }
    ++at_;
    if (!has_byte() || byte() != '"') return;
    keep(at_ + 1);
    is_after_cr = false;
  }
}

/// Returns true if the quote at at_ closes on this line, at the end of its field. In a comment, any
/// other quote is an ordinary character.
bool CsvReader::closes_in_line() {
  bool may_close = false;
  for (std::size_t end = at_ + 1; end - at_ <= record_bytes_max; ++end) {
    if (begin_ + end == filled_ && !fill()) return may_close;
    const char next = buffer_[begin_ + end];
    if (may_close && next != '"') return meaning(next) != Means::itself;
    if (meaning(next) == Means::line_end) return false;
    may_close = next == '"' && !may_close;
  }
  return false;
}

/// Appends the bytes up to `end` to the field.
void CsvReader::keep(std::size_t end) {
  if (kept_ != at_) {
    char* const record = buffer_.data() + begin_;
    std::memmove(record + kept_, record + at_, end - at_);
  }
  kept_ += end - at_;
  at_ = end;
}

void CsvReader::skip_blanks() {
  while (has_byte() && is_blank(byte())) ++at_;
}

/// Appends a block of input to buffer_, after the bytes of the record. Returns false at the end of
/// the input.
bool CsvReader::fill() {
  check_length();
  if (is_at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, filled_ - begin_);
    filled_ -= std::exchange(begin_, 0);
  }
  constexpr std::size_t end_mark = 1;  // a zero, at which the search for the field's end stops
  if (buffer_.size() < filled_ + read_bytes + end_mark)
    buffer_.resize(filled_ + read_bytes + end_mark);
  const std::size_t bytes = input_.read(std::span(buffer_).subspan(filled_, read_bytes));
  filled_ += bytes;
  buffer_[filled_] = '\0';
  is_at_end_ = bytes == 0;
  return bytes > 0;
}

void CsvReader::check_length() const {
  if (at_ > record_bytes_max)
    throw InputError(input_.path(), record_line_, 1,
                     "the record that begins here is longer than " +
                         std::to_string(record_bytes_max) + " bytes; is a quote left open?");
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

bool is_clock(std::string_view text) {
  text = trim(text);
  constexpr std::size_t nmea_digits = 6;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view rest = text.substr(digits);
  if (digits == nmea_digits) return rest.empty() || rest.starts_with('.') || rest.starts_with(',');
  return (digits == 1 || digits == 2) && rest.starts_with(':');
}

std::string joined_time(std::string_view date, std::string_view clock) {
  std::string time = std::string(trim(date)) + ' ';
  clock = trim(clock);
  if (is_clock(clock) && clock.find(':') == std::string_view::npos) {
    time.append(clock.substr(0, 2)).append(1, ':').append(clock.substr(2, 2)).append(1, ':');
    clock.remove_prefix(4);
  }
  return time.append(clock);
}

std::string_view time_of(std::string_view date, std::string_view clock, std::string& time) {
  constexpr std::size_t bytes_with_date = 9;
  if (trim(clock).size() >= bytes_with_date && !is_clock(clock)) return clock;
  if (is_missing(date) || is_missing(clock)) return {};
  time = joined_time(date, clock);
  return time;
}

void join_split_time(std::vector<Field>& fields, std::size_t index, bool keeps_places,
                     std::string& time) {
  if (index + 1 >= fields.size() || !is_date(fields[index].text)) return;
  // Six digits are more likely a number of another column than a clock time.
  const std::string_view clock = fields[index + 1].text;
  if (!is_clock(clock) || clock.find(':') == std::string_view::npos) return;
  time = joined_time(fields[index].text, clock);
  fields[index].text = time;
  if (keeps_places) return;
  fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(index) + 1);
}

const Field* find_beyond(std::span<const Field> fields, std::size_t width) {
  const auto beyond = fields.subspan(std::min(width, fields.size()));
  const auto found =
      std::ranges::find_if(beyond, [](const Field& field) { return !trim(field.text).empty(); });
  return found == beyond.end() ? nullptr : &*found;
}

std::string beyond_the_header(std::string_view text) {
  return "the field " + quoted_text(trim(text)) +
         " has no column in the header; does a value hold the separator, as a "
         "decimal comma does?";
}

}  // namespace starling::sim
