// SPDX-License-Identifier: Apache-2.0
// Splits the input into blocks of whole records, so that rows of a pipe are passed on as soon as
// they come, and parses the blocks: see object_rows.hpp.
#include "starling/apps/put/object_rows.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include <simdjson.h>

#include "starling/protocol/wire/check.hpp"
#include "starling/sim/files/csv_reader.hpp"
#include "starling/sim/files/errors.hpp"
#include "starling/sim/files/number_text.hpp"
#include "starling/sim/files/quoted_text.hpp"
#include "starling/sim/files/text_append.hpp"

namespace starling::apps {
namespace {

namespace dom = simdjson::dom;

// A longer record is an error, most likely because a quote was left open.
constexpr std::size_t record_bytes_max = std::size_t{1} << 20;
constexpr std::size_t unused_max = 20;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

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

template <class Integer>
std::optional<Integer> parse_integer(std::string_view text) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
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
  if (!time_us.empty())
    at_us = parse_integer<std::int64_t>(time_us);
  else if (!time.empty())
    at_us = parse_time_us(time, {.unit = options.time_unit});
  else
    at_us = options.now_us();
  if (!at_us) return not_understood("time", time_us.empty() ? time : time_us);
  row.time_us = *at_us;

  const bool is_geographic = options.space == Space::wgs84;
  const std::array<std::string_view, 3> words =
      is_geographic ? std::array<std::string_view, 3>{"longitude", "latitude", "altitude"}
                    : std::array<std::string_view, 3>{"x", "y", "z"};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto field = static_cast<ObjectField>(static_cast<std::size_t>(ObjectField::x) + axis);
    const std::string_view text = sim::trim(text_of(texts, field));
    const bool is_needed = axis < 2 || options.space == Space::planar3;
    if (text.empty() && is_needed) return "the " + std::string(words[axis]) + " is missing";
    if (text.empty() || (axis == 2 && options.space == Space::planar2)) continue;
    const auto value = sim::parse_number(text);
    if (!value) return not_understood(words[axis], text);
    row.position[axis] = *value;
    row.has_z = axis == 2;
  }
  const std::string_view tags = sim::trim(text_of(texts, ObjectField::tags));
  if (tags.empty()) return {};
  row.tags = parse_integer<std::uint32_t>(tags);
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

struct ObjectRows::State {
  std::string path;
  ObjectFormat format;
  ObjectRowOptions options;
  std::string pending{};               ///< bytes whose record has not ended yet
  std::size_t scanned = 0;             ///< bytes of `pending` in which record ends were looked for
  std::size_t records_end = 0;         ///< the end of the last whole record in `pending`
  bool in_quotes = false;              ///< at `scanned`, in CSV
  std::uint64_t line = 1;              ///< of the first byte of `pending`
  std::string header{};                ///< of a CSV file, with its line break
  std::vector<ObjectField> columns{};  ///< of a CSV file
  std::vector<std::string> unused{};
  dom::parser parser{};

  [[noreturn]] void fail(std::uint64_t at, const std::string& sentence) const {
    throw sim::InputError(path, at, 1, sentence);
  }

  void note_unused(std::string_view name) {
    if (unused.size() < unused_max && std::ranges::find(unused, name) == unused.end())
      unused.emplace_back(name);
  }

  void choose_format() {
    if (format != ObjectFormat::by_first_byte) return;
    std::string_view text = pending;
    if (byte_order_mark.starts_with(text)) return;
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return;
    if (text[first] == '[')
      fail(line, "this is a JSON array; put needs one JSON object on each line, without the array");
    format = text[first] == '{' ? ObjectFormat::ndjson : ObjectFormat::csv;
  }

  /// Finds the end of the last whole record. A line break inside quotes ends no record of CSV.
  void scan() {
    for (; scanned < pending.size(); ++scanned) {
      const char byte = pending[scanned];
      if (byte == '"' && format == ObjectFormat::csv) in_quotes = !in_quotes;
      if (byte == '\n' && !in_quotes) records_end = scanned + 1;
    }
    if (pending.size() - records_end <= record_bytes_max) return;
    fail(line + static_cast<std::uint64_t>(
                    std::count(pending.begin(),
                               pending.begin() + static_cast<std::ptrdiff_t>(records_end), '\n')),
         "the record that begins here has more than 1 MiB; a quote may be left open");
  }

  void take_records(const RowHandler& row, const FaultHandler& fault) {
    if (records_end == 0) return;
    const std::string block = pending.substr(0, records_end);
    const std::uint64_t block_line = line;
    line += static_cast<std::uint64_t>(std::ranges::count(block, '\n'));
    pending.erase(0, records_end);
    scanned -= records_end;
    records_end = 0;
    if (format == ObjectFormat::ndjson)
      parse_json(block, block_line, row, fault);
    else
      parse_csv(block, block_line, row, fault);
  }

  void parse_csv(std::string_view block, std::uint64_t block_line, const RowHandler& row,
                 const FaultHandler& fault) {
    for (; columns.empty() && !block.empty(); ++block_line) {
      std::string_view first = block.substr(0, block.find('\n'));
      block.remove_prefix(std::min(block.size(), first.size() + 1));
      if (block_line == 1 && first.starts_with(byte_order_mark))
        first.remove_prefix(byte_order_mark.size());
      if (first.find_first_not_of(" \t\r") != std::string_view::npos)
        find_columns(first, block_line);
    }
    // The rows are parsed behind the header, because the header tells the separator.
    const std::string text = header + std::string(block);
    sim::TextInput input(path, text);
    sim::CsvReader reader(input);
    std::vector<sim::Field> fields;
    bool is_header = true;
    try {
      while (reader.next(fields)) {
        if (std::exchange(is_header, false)) continue;
        Texts texts;
        for (std::size_t at = 0; at < std::min(fields.size(), columns.size()); ++at)
          if (columns[at] != ObjectField::none)
            texts[static_cast<std::size_t>(columns[at])] = fields[at].text;
        take(texts, block_line + fields.front().line - 2, row, fault);
      }
    } catch (const sim::InputError&) {
      fail(block_line, "a quote is left open in this line or in one below");
    }
  }

  /// Sets `header` and `columns`.
  void find_columns(std::string_view text, std::uint64_t at) {
    // Behind a '#', CsvReader would look for the separator in the first row.
    const std::size_t begin = text.find_first_not_of(" \t#");
    header = std::string(text.substr(std::min(begin, text.size()))) + "\n";
    sim::TextInput input(path, header);
    sim::CsvReader reader(input);
    std::vector<sim::Field> fields;
    if (!reader.next(fields)) fail(at, "the header is empty");
    std::vector<ObjectField> found;
    std::string shown;
    for (const sim::Field& each : fields) {
      const std::string_view name = sim::trim(each.text);
      const ObjectField field = object_field_of(name, options.space);
      if (field != ObjectField::none && std::ranges::find(found, field) != found.end())
        fail(at, "two columns hold the same field; the second is " + sim::quoted_text(name));
      if (field == ObjectField::none) note_unused(name);
      found.push_back(field);
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

  void parse_json(std::string_view block, std::uint64_t block_line, const RowHandler& row,
                  const FaultHandler& fault) {
    for (std::uint64_t at = block_line; !block.empty(); ++at) {
      std::string_view text = block.substr(0, block.find('\n'));
      block.remove_prefix(std::min(block.size(), text.size() + 1));
      if (at == 1 && text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
      if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      parse_object(text, at, row, fault);
    }
  }

  void parse_object(std::string_view text, std::uint64_t at, const RowHandler& row,
                    const FaultHandler& fault) {
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
    take(texts, at, row, fault);
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

  void take(const Texts& texts, std::uint64_t at, const RowHandler& row,
            const FaultHandler& fault) const {
    ObjectRow parsed;
    const std::string wrong = parse_row(texts, options, parsed);
    if (wrong.empty())
      row(parsed);
    else
      fault(at, wrong);
  }
};

ObjectRows::ObjectRows(std::string path, ObjectFormat format, ObjectRowOptions options)
    : state_(std::make_unique<State>()) {
  state_->path = std::move(path);
  state_->format = format;
  state_->options = std::move(options);
}

ObjectRows::~ObjectRows() = default;

void ObjectRows::feed(std::string_view bytes, const RowHandler& row, const FaultHandler& fault) {
  state_->pending += bytes;
  state_->choose_format();
  if (state_->format == ObjectFormat::by_first_byte) return;
  state_->scan();
  state_->take_records(row, fault);
}

void ObjectRows::end(const RowHandler& row, const FaultHandler& fault) {
  State& state = *state_;
  if (state.format == ObjectFormat::csv && state.in_quotes)
    state.fail(state.line, "a quote is left open in this line or in one below");
  if (!state.pending.empty()) feed("\n", row, fault);
  if (state.format == ObjectFormat::by_first_byte ||
      (state.format == ObjectFormat::csv && state.columns.empty()))
    state.fail(1, "the input is empty; put needs a CSV header or JSON objects, one on each line");
}

const std::vector<std::string>& ObjectRows::unused() const {
  return state_->unused;
}

}  // namespace starling::apps
