// SPDX-License-Identifier: Apache-2.0
// Reads the records and parses their fields: see object_rows.hpp.
#include "starling/apps/put/object_rows.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include <simdjson.h>

#include "starling/protocol/wire/check.hpp"
#include "starling/sim/data/files/byte_reader.hpp"
#include "starling/sim/data/files/csv_reader.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/files/quoted_text.hpp"
#include "starling/sim/data/files/text_append.hpp"

namespace starling::apps {
namespace {

namespace dom = simdjson::dom;

// A longer record is an error, most likely because a quote was left open.
constexpr std::size_t record_bytes_max = std::size_t{1} << 20;
constexpr std::size_t unused_max = 20;

using Texts = std::array<std::string_view, object_field_count>;

std::string_view text_of(const Texts& texts, ObjectField field) {
  return texts[static_cast<std::size_t>(field)];
}

std::string wanted_columns(Space space) {
  switch (space) {
    case Space::wgs84:
      return "id, lon and lat, and may have alt, time or time_us, tags and name";
    case Space::planar3:
      return "id, x, y and z, and may have time or time_us, tags and name";
    default:
      return "id, x and y, and may have time or time_us, tags and name";
  }
}

/// Returns what is wrong with an id or a name, or an empty text.
std::string fault_of_text(std::string_view what, std::string_view text, std::size_t bytes_max) {
  if (text.size() > bytes_max)
    return "the " + std::string(what) + " has " + std::to_string(text.size()) +
           " bytes, and the server allows " + std::to_string(bytes_max);
  if (text.find('\0') != std::string_view::npos || !protocol::is_utf8(text))
    return "the " + std::string(what) + " is not UTF-8 text";
  return {};
}

std::string not_understood(std::string_view what, std::string_view text) {
  return "the " + std::string(what) + " " + sim::quoted_text(text) + " cannot be understood";
}

/// Fills `row` and returns an empty text, or returns what is wrong.
std::string parse_row(const Texts& texts, const ObjectRowOptions& options, ObjectRow& row) {
  row.id = sim::trim(text_of(texts, ObjectField::id));
  if (row.id.empty()) return "the id is missing";
  row.name = sim::trim(text_of(texts, ObjectField::name));
  for (const auto& [what, text] : {std::pair{"id", row.id}, std::pair{"name", row.name}})
    if (std::string fault = fault_of_text(what, text, options.text_bytes_max); !fault.empty())
      return fault;

  const std::string_view time = sim::trim(text_of(texts, ObjectField::time));
  const std::string_view time_us = sim::trim(text_of(texts, ObjectField::time_us));
  std::optional<std::int64_t> at_us;
  std::string changed;
  if (!sim::is_missing(time_us))
    at_us = parse_time_us(time_us, {.unit = TimeUnit::microseconds});
  else if (!sim::is_missing(time))
    at_us = parse_time_us(sim::with_decimal_point(time, options.decimal_mark, changed),
                          {.unit = options.time_unit, .date_order = options.date_order});
  else
    at_us = options.now_us();
  if (!at_us) return not_understood("time", sim::is_missing(time_us) ? time : time_us);
  row.time_us = *at_us;

  const bool is_geographic = options.space == Space::wgs84;
  const std::array<std::string_view, 3> words =
      is_geographic ? std::array<std::string_view, 3>{"longitude", "latitude", "altitude"}
                    : std::array<std::string_view, 3>{"x", "y", "z"};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto field = static_cast<ObjectField>(static_cast<std::size_t>(ObjectField::x) + axis);
    const std::string_view text = sim::trim(text_of(texts, field));
    const bool is_needed = axis < 2 || options.space == Space::planar3;
    const bool is_missing = sim::is_missing(text);
    if (is_missing && is_needed) return "the " + std::string(words[axis]) + " is missing";
    if (is_missing || (axis == 2 && options.space == Space::planar2)) continue;
    const auto value = sim::parse_number(text, options.decimal_mark);
    if (!value) return not_understood(words[axis], text);
    row.position[axis] = *value;
    row.has_z = axis == 2;
  }
  const std::string_view tags = sim::trim(text_of(texts, ObjectField::tags));
  if (sim::is_missing(tags)) return {};
  row.tags = sim::parse_tag_bits(sim::with_decimal_point(tags, options.decimal_mark, changed));
  return row.tags ? "" : not_understood("tag number", tags);
}

}  // namespace

ObjectField object_field_of(std::string_view name, Space space) {
  std::string lower(sim::trim(name));
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  struct Entry {
    std::string_view name;
    ObjectField field;
  };
  constexpr std::array everywhere{
      Entry{"id", ObjectField::id},          Entry{"time", ObjectField::time},
      Entry{"timestamp", ObjectField::time}, Entry{"time_us", ObjectField::time_us},
      Entry{"tags", ObjectField::tags},      Entry{"name", ObjectField::name}};
  constexpr std::array on_earth{Entry{"lon", ObjectField::x}, Entry{"long", ObjectField::x},
                                Entry{"lng", ObjectField::x}, Entry{"longitude", ObjectField::x},
                                Entry{"lat", ObjectField::y}, Entry{"latitude", ObjectField::y},
                                Entry{"alt", ObjectField::z}, Entry{"altitude", ObjectField::z}};
  constexpr std::array on_plane{Entry{"x", ObjectField::x}, Entry{"y", ObjectField::y},
                                Entry{"z", ObjectField::z}};
  const auto find = [&](std::span<const Entry> entries) {
    const auto found = std::ranges::find(entries, lower, &Entry::name);
    return found == entries.end() ? ObjectField::none : found->field;
  };
  const ObjectField field = find(everywhere);
  if (field != ObjectField::none) return field;
  return space == Space::wgs84 ? find(on_earth) : find(on_plane);
}

namespace {

struct ObjectReader {
  sim::TextInput& input;
  ObjectFormat format;
  ObjectRowOptions options;
  const RowHandler& row;
  const FaultHandler& fault;
  std::vector<std::string>& unused;
  std::vector<ObjectField> columns{};  ///< columns of a CSV file
  dom::parser parser{};

  void read() {
    choose_format();
    format == ObjectFormat::ndjson ? read_json() : read_csv();
  }

  [[noreturn]] void fail(std::uint64_t at, const std::string& sentence) const {
    throw sim::InputError(input.path(), at, 1, sentence);
  }

  void note_unused(std::string_view name) const {
    if (unused.size() < unused_max && std::ranges::find(unused, name) == unused.end())
      unused.emplace_back(name);
  }

  void choose_format() {
    std::size_t first = 0;
    std::string_view text = input.head(1);
    while ((first = text.find_first_not_of(" \t\r\n")) == std::string_view::npos) {
      const std::size_t bytes = text.size() + 1;
      text = input.head(bytes);
      if (text.size() < bytes)
        fail(1, "the input is empty; put needs a CSV header or JSON objects, one on each line");
    }
    if (format != ObjectFormat::by_first_byte) return;
    if (text[first] == '[')
      fail(1, "this is a JSON array; put needs one JSON object on each line, without the array");
    format = text[first] == '{' ? ObjectFormat::ndjson : ObjectFormat::csv;
  }

  void read_csv() {
    sim::CsvReader reader(input);
    std::vector<sim::Field> fields;
    while (columns.empty()) {
      if (!reader.next(fields)) fail(1, "the input has no header");
      if (!fields.front().text.starts_with('#') || holds_position(fields)) find_columns(fields);
    }
    reader.end_comments();
    while (reader.next(fields)) read_record(reader, fields);
  }

  void read_record(const sim::CsvReader& reader, std::vector<sim::Field>& fields) {
    std::string time;
    const auto column = std::ranges::find(columns, ObjectField::time);
    if (reader.separator() == ' ' && column != columns.end()) {
      const bool is_next_unused = column + 1 != columns.end() && column[1] == ObjectField::none;
      sim::join_split_time(fields, static_cast<std::size_t>(column - columns.begin()),
                           fields.size() <= columns.size() && is_next_unused, time);
    }
    if (const sim::Field* const beyond = sim::find_beyond(fields, columns.size()))
      return fault(beyond->line, sim::beyond_the_header(beyond->text));
    Texts texts;
    for (std::size_t at = 0; at < std::min(fields.size(), columns.size()); ++at)
      if (columns[at] != ObjectField::none)
        texts[static_cast<std::size_t>(columns[at])] = fields[at].text;
    for (const ObjectField axis : {ObjectField::x, ObjectField::y})
      if (reader.separator() != ',' && sim::has_decimal_comma(text_of(texts, axis)))
        options.decimal_mark = sim::DecimalMark::comma;
    take(texts, fields.front().line);
  }

  /// Returns the field of each column of a header.
  std::vector<ObjectField> fields_of(const std::vector<sim::Field>& header) const {
    std::vector<ObjectField> found;
    for (const sim::Field& each : header)
      found.push_back(object_field_of(name_of(header, each), options.space));
    return found;
  }

  static std::string_view name_of(const std::vector<sim::Field>& header, const sim::Field& column) {
    std::string_view name = sim::trim(column.text);
    if (&column == header.data())
      name.remove_prefix(std::min(name.find_first_not_of(" \t#"), name.size()));
    return name;
  }

  bool holds_position(const std::vector<sim::Field>& header) const {
    const std::vector<ObjectField> found = fields_of(header);
    return std::ranges::find(found, ObjectField::x) != found.end();
  }

  void find_columns(const std::vector<sim::Field>& header) {
    const std::uint64_t at = header.front().line;
    std::vector<ObjectField> found = fields_of(header);
    std::string shown;
    for (std::size_t column = 0; column < found.size(); ++column) {
      const std::string_view name = name_of(header, header[column]);
      const ObjectField field = found[column];
      const auto before = found.begin() + static_cast<std::ptrdiff_t>(column);
      if (field != ObjectField::none && std::find(found.begin(), before, field) != before)
        fail(at, "two columns hold the same field; the second is " + sim::quoted_text(name));
      if (field == ObjectField::none) note_unused(name);
      shown += (shown.empty() ? ": " : ", ") + sim::printable_text(name);
    }
    const auto has = [&](ObjectField field) {
      return std::ranges::find(found, field) != found.end();
    };
    if (!has(ObjectField::id) || !has(ObjectField::x) || !has(ObjectField::y) ||
        (options.space == Space::planar3 && !has(ObjectField::z)))
      fail(at, "this server's space is " + std::string(to_string(options.space)) +
                   ", so the header needs " + wanted_columns(options.space) + "; this one has" +
                   shown);
    if (has(ObjectField::time) && has(ObjectField::time_us))
      fail(at, "the columns time and time_us both hold the time; leave one out");
    columns = std::move(found);
  }

  void read_json() {
    sim::ByteReader bytes(input);
    std::string text;
    while (bytes.peek() != sim::ByteReader::end_of_file) {
      const std::uint64_t line = bytes.line();
      text.clear();
      for (int byte = bytes.peek(); byte != sim::ByteReader::end_of_file; byte = bytes.peek()) {
        bytes.take();
        if (byte == '\n' || byte == '\r') break;
        text.push_back(static_cast<char>(byte));
        if (text.size() > record_bytes_max)
          fail(line, "the record that begins here has more than 1 MiB");
      }
      if (text.find_first_not_of(" \t") != std::string::npos) parse_object(text, line);
    }
  }

  void parse_object(std::string_view text, std::uint64_t at) {
    dom::object object;
    if (parser.parse(text.data(), text.size()).get(object) != simdjson::SUCCESS)
      return fault(at, "this is not a JSON object: " + sim::quoted_text(text));
    Texts texts;
    std::array<std::string, object_field_count> numbers;
    for (const auto& [key, value] : object) {
      const ObjectField field = object_field_of(key, options.space);
      if (field == ObjectField::none) {
        note_unused(key);
        continue;
      }
      const auto index = static_cast<std::size_t>(field);
      if (!texts[index].empty())
        return fault(at, "two keys hold the same field; the second is " + sim::quoted_text(key));
      std::string_view string;
      if (value.is_null()) continue;
      if (value.get(string) == simdjson::SUCCESS) {
        texts[index] = string;
      } else if (append_number(value, numbers[index])) {
        texts[index] = numbers[index];
      } else {
        return fault(at, sim::quoted_text(key) + " is neither a string nor a number");
      }
    }
    if (!text_of(texts, ObjectField::time).empty() && !text_of(texts, ObjectField::time_us).empty())
      return fault(at, "time and time_us both hold the time; leave one out");
    take(texts, at);
  }

  static bool append_number(const dom::element& value, std::string& text) {
    std::int64_t integer = 0;
    std::uint64_t large = 0;
    double real = 0;
    if (value.get(integer) == simdjson::SUCCESS)
      sim::append_number(text, integer);
    else if (value.get(large) == simdjson::SUCCESS)
      sim::append_number(text, large);
    else if (value.get(real) == simdjson::SUCCESS)
      sim::append_number(text, real, std::chars_format::fixed);
    else
      return false;
    return true;
  }

  void take(const Texts& texts, std::uint64_t at) const {
    ObjectRow parsed;
    const std::string wrong = parse_row(texts, options, parsed);
    if (wrong.empty())
      row(parsed);
    else
      fault(at, wrong);
  }
};

}  // namespace

void read_object_rows(sim::TextInput& input, ObjectFormat format, const ObjectRowOptions& options,
                      const RowHandler& row, const FaultHandler& fault,
                      std::vector<std::string>& unused) {
  ObjectReader reader{input, format, options, row, fault, unused};
  reader.read();
}

}  // namespace starling::apps
