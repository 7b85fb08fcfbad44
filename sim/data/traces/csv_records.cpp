// SPDX-License-Identifier: Apache-2.0
// Reads CSV tables with one position or one trip in each record: see record_readers.hpp.
#include <charconv>
#include <optional>
#include <string>

#include <simdjson.h>

#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/traces/csv_table.hpp"
#include "starling/sim/data/traces/record_readers.hpp"

namespace starling::sim {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::int64_t fix_interval_s = 15;  // between two positions of a trip of the Porto taxis

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Splits a trip into its positions and passes each position to the handler.
class TripReader {
 public:
  explicit TripReader(const RecordHandler& handler) : handler_(handler) {}

  /// `row` holds the fields that all positions of the trip share. If the record cannot be split,
  /// passes it unchanged to the handler, which reports the fault.
  void read(RowText row) {
    const std::string_view polyline = trim(row.x.text);
    const std::optional<std::int64_t> start_s = parse_integer(trim(row.time.text));
    const bool incomplete = trim(row.tags.text) == "True";
    row.tags.text = {};
    if (incomplete || polyline == "[]") row.x.text = row.y.text = {};
    if (!start_s || row.x.text.empty()) return handler_(row);
    json_.assign(polyline);
    json_.reserve(json_.size() + simdjson::SIMDJSON_PADDING);
    try {
      read_points(row, *start_s);
    } catch (const simdjson::simdjson_error&) {
      row.x.text = row.y.text = polyline;
      handler_(row);
    }
  }

 private:
  void read_points(RowText row, std::int64_t time_s) {
    ondemand::document document =
        parser_.iterate(simdjson::padded_string_view(json_.data(), json_.size(), json_.capacity()));
    for (auto point : document.get_array()) {
      std::size_t axis = 0;
      row.x.text = row.y.text = {};
      for (auto coordinate : point.get_array()) {
        const std::string_view token = coordinate.raw_json_token();
        (axis++ == 0 ? row.x : row.y).text = token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
      }
      const std::string time = std::to_string(time_s);
      row.time.text = time;
      handler_(row);
      time_s += fix_interval_s;
    }
  }

  const RecordHandler& handler_;
  ondemand::parser parser_;
  std::string json_;
};

}  // namespace

void read_csv_records(TextInput& input, const RecordOptions& options,
                      const RecordHandler& handler) {
  CsvTable table(input, options);
  for (RowText row; table.next(row);) handler(row);
}

void read_trip_records(TextInput& input, const RecordOptions& options,
                       const RecordHandler& handler) {
  CsvTable table(input, options);
  TripReader trips(handler);
  for (RowText row; table.next(row);) trips.read(row);
}

}  // namespace starling::sim
