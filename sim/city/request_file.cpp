// SPDX-License-Identifier: Apache-2.0
// Finds the columns, skips bad rows, projects to the plane and sorts by time: see request_file.hpp.
#include "starling/sim/city/request_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <utility>

#include "starling/knn/base/time_text.hpp"
#include "starling/sim/city/roads/random.hpp"
#include "starling/sim/data/files/csv_reader.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/files/quoted_text.hpp"

namespace starling::sim::city {
namespace {

constexpr std::int64_t days_max = 366;  // longest time that a file may span without --for
constexpr std::int64_t minute_us = 60'000'000;
/// By chance, one exact time in 60 is a whole minute. If more than one time in 10 is a whole
/// minute, the recorder rounded the times.
constexpr std::size_t whole_share_told = 10;
constexpr double coordinate_max_m = 1e7;  // limit of a lattice with 1 cm resolution
constexpr std::size_t part_count = 5;     // time, pick-up x, y, drop-off x, y
constexpr std::array<const char*, part_count> geographic_names{"time", "pick_lon", "pick_lat",
                                                               "drop_lon", "drop_lat"};
constexpr std::array<const char*, part_count> planar_names{"time", "pick_x", "pick_y", "drop_x",
                                                           "drop_y"};
/// Column numbers, from 0, in the files of New York's taxi trips of 2013, which have no header.
constexpr std::array<std::size_t, part_count> new_york_columns{2, 6, 7, 8, 9};
constexpr std::size_t new_york_width = 17;

struct RequestColumns {
  std::array<std::string, part_count> names;
  std::array<std::size_t, part_count> indices{};
  bool geographic = true;
  bool has_header = true;
};

RequestColumns parse_request_columns(const std::string& text) {
  RequestColumns columns;
  std::array<bool, 2> may_be{true, true};  // [0]: geographic, [1]: planar
  std::size_t given = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view pair = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view key = pair.substr(0, equals);
    const auto geographic = std::ranges::find(geographic_names, key);
    const auto planar = std::ranges::find(planar_names, key);
    may_be[0] = may_be[0] && geographic != geographic_names.end();
    may_be[1] = may_be[1] && planar != planar_names.end();
    if ((!may_be[0] && !may_be[1]) || equals + 1 >= pair.size())
      throw UsageError("--request-columns: " + quoted_text(pair) +
                       " does not fit; write time=, pick_lon=, pick_lat=, drop_lon=, drop_lat= or "
                       "time=, pick_x=, pick_y=, drop_x=, drop_y=, each with a column's name or "
                       "number");
    const auto part = static_cast<std::size_t>(may_be[0] ? geographic - geographic_names.begin()
                                                         : planar - planar_names.begin());
    if (!columns.names[part].empty())
      throw UsageError("--request-columns: " + std::string(key) + " is given twice");
    columns.names[part] = pair.substr(equals + 1);
    ++given;
  }
  if (given != part_count)
    throw UsageError(
        "--request-columns: five columns are needed: the time and two coordinates each of pick-up "
        "and drop-off");
  columns.geographic = may_be[0];
  columns.has_header = false;
  for (std::size_t part = 0; part < part_count; ++part) {
    const std::string& name = columns.names[part];
    const auto [end, error] =
        std::from_chars(name.data(), name.data() + name.size(), columns.indices[part]);
    if (error != std::errc() || end != name.data() + name.size() || columns.indices[part] == 0)
      columns.has_header = true;
    --columns.indices[part];
  }
  return columns;
}

/// Recognises the layout by the first record: New York's trips, or a header with the column names
/// above. Returns std::nullopt for any other record.
std::optional<RequestColumns> recognise(const std::vector<Field>& record) {
  RequestColumns columns;
  if (record.size() >= new_york_width && parse_time_us(record[2].text, {}) &&
      parse_time_us(record[3].text, {}) && parse_number(record[6].text) &&
      parse_number(record[9].text)) {
    columns.indices = new_york_columns;
    columns.has_header = false;
    return columns;
  }
  const std::vector<std::string> header = texts_of(record);
  for (const auto& names : {geographic_names, planar_names}) {
    columns.geographic = names == geographic_names;
    std::ranges::copy(names, columns.names.begin());
    if (!find_column(header, "time") && find_column(header, "time_us"))
      columns.names[0] = "time_us";
    if (std::ranges::all_of(columns.names, [&](const std::string& name) {
          return find_column(header, name).has_value();
        }))
      return columns;
  }
  return std::nullopt;
}

struct RawRequest {
  std::int64_t time_us = 0;
  Point pickup;
  Point dropoff;
  std::uint64_t line = 0;  ///< line number in the file
};

class RequestReader {
 public:
  explicit RequestReader(const RequestFileOptions& options) : options_(options) {}

  Demand read() {
    read_rows();
    choose_plane();
    for (const RawRequest& row : rows_) place(row);
    rows_.clear();
    finish();
    return std::move(demand_);
  }

 private:
  void read_rows() {
    TextInput input(options_.path);
    CsvReader reader(input);
    std::vector<Field> record;
    bool has_record = reader.next(record);
    if (!has_record)
      throw InputError(options_.path, 1, 1, "the file is empty; it must hold requests");
    find_columns(record);
    if (columns_.has_header) has_record = reader.next(record);
    for (; has_record; has_record = reader.next(record)) read_row(record);
  }

  void find_columns(const std::vector<Field>& record) {
    if (options_.columns.empty()) {
      const auto recognised = recognise(record);
      if (!recognised)
        throw InputError(
            options_.path, 1, 1,
            "the file is not in New York's layout and has no header with time, pick_lon, "
            "pick_lat, drop_lon, drop_lat; name its columns with --request-columns");
      columns_ = *recognised;
    } else {
      columns_ = parse_request_columns(options_.columns);
    }
    if (!columns_.has_header) return;
    width_ = record.size();
    const std::vector<std::string> header = texts_of(record);
    for (std::size_t part = 0; part < part_count; ++part) {
      const auto index = find_column(header, columns_.names[part]);
      if (!index)
        throw InputError(options_.path, record.front().line, 1,
                         "there is no column " + quoted_text(columns_.names[part]));
      columns_.indices[part] = *index;
    }
  }

  void read_row(const std::vector<Field>& record) {
    if (const Field* const beyond = width_ == 0 ? nullptr : find_beyond(record, width_))
      return skip(BadRow::unparsable, *beyond, beyond_the_header(beyond->text));
    std::array<double, part_count> numbers{};
    std::int64_t time_us = 0;
    for (std::size_t part = 0; part < part_count; ++part) {
      const Field absent{{}, record.back().line, record.back().column + record.back().text.size()};
      const Field& field =
          columns_.indices[part] < record.size() ? record[columns_.indices[part]] : absent;
      const auto& names = columns_.geographic ? geographic_names : planar_names;
      const auto is_unreadable = [&] {
        skip(BadRow::unparsable, field,
             "the " + std::string(names[part]) +
                 (is_missing(field.text)
                      ? " is missing"
                      : " " + quoted_text(trim(field.text)) + " cannot be understood"));
      };
      if (part == 0) {
        const TimeRules rules{.unit = columns_.names[0] == "time_us" ? TimeUnit::microseconds
                                                                     : TimeUnit::by_magnitude};
        const auto parsed_us = parse_time_us(trim(field.text), rules);
        if (!parsed_us) return is_unreadable();
        time_us = *parsed_us;
      } else {
        const auto number = parse_number(field.text);
        if (!number || !std::isfinite(*number)) return is_unreadable();
        numbers[part] = *number;
      }
    }
    const RawRequest row{
        time_us, {numbers[1], numbers[2]}, {numbers[3], numbers[4]}, record.front().line};
    if (columns_.geographic && (row.pickup == Point{} || row.dropoff == Point{}))
      return skip(BadRow::null_island, record.front(), "a position is exactly 0, 0");
    if (!is_on_earth(row.pickup) || !is_on_earth(row.dropoff))
      return skip(BadRow::outside_area, record.front(), "a position is out of range");
    if (row.pickup == row.dropoff)
      return skip(BadRow::zero_length, record.front(), "pick-up and drop-off are one place");
    rows_.push_back(row);
  }

  void skip(BadRow reason, const Field& field, const std::string& sentence) {
    std::string& first = demand_.first_bad_rows[static_cast<std::size_t>(reason)];
    if (first.empty()) first = InputError(options_.path, field.line, field.column, sentence).what();
    ++demand_[reason];
  }

  bool is_on_earth(Point point) const {
    const Point most =
        columns_.geographic ? Point{180, 90} : Point{coordinate_max_m, coordinate_max_m};
    return std::abs(point.x_m) <= most.x_m && std::abs(point.y_m) <= most.y_m;
  }

  static double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
  }

  // Finds the plane's origin and units, and the area allowed for requests. The metres per degree
  // are those of the WGS84 ellipsoid at the median latitude, exact to a few decimetres (series from
  // NIMA TR8350.2).
  void choose_plane() {
    if (rows_.empty()) return;
    std::vector<double> x;
    std::vector<double> y;
    for (const RawRequest& row : rows_) {
      x.push_back(row.pickup.x_m);
      y.push_back(row.pickup.y_m);
    }
    const Point middle{median(std::move(x)), median(std::move(y))};
    double half_x = options_.area_km * 1000;
    double half_y = half_x;
    if (columns_.geographic) {
      origin_ = middle;
      const double angle = middle.y_m * std::numbers::pi / 180;
      unit_x_m_ =
          111412.84 * std::cos(angle) - 93.5 * std::cos(3 * angle) + 0.118 * std::cos(5 * angle);
      unit_y_m_ = 111132.92 - 559.82 * std::cos(2 * angle) + 1.175 * std::cos(4 * angle);
      half_x /= unit_x_m_;
      half_y /= unit_y_m_;
    }
    allowed_ = {{middle.x_m - half_x, middle.y_m - half_y},
                {middle.x_m + half_x, middle.y_m + half_y}};
    if (options_.area)
      allowed_ = {{(*options_.area)[0], (*options_.area)[1]},
                  {(*options_.area)[2], (*options_.area)[3]}};
  }

  void place(const RawRequest& row) {
    if (!allowed_.contains(row.pickup) || !allowed_.contains(row.dropoff)) {
      skip(BadRow::outside_area, {{}, row.line, 1}, "a position is outside the area");
      return;
    }
    const auto to_plane = [&](Point point) -> Point {
      return {(point.x_m - origin_.x_m) * unit_x_m_, (point.y_m - origin_.y_m) * unit_y_m_};
    };
    demand_.requests.push_back({row.time_us, to_plane(row.pickup), to_plane(row.dropoff)});
  }

  /// Returns a text such as "3 rows were skipped: 2 outside the area, 1 unparsable".
  std::string skipped() const {
    std::uint64_t total = 0;
    std::string reasons;
    for (std::size_t reason = 0; reason < bad_row_count; ++reason) {
      const std::uint64_t count = demand_.bad_rows[reason];
      if (count == 0) continue;
      total += count;
      reasons += (reasons.empty() ? ": " : ", ") + std::to_string(count) + " " +
                 std::string(to_string(static_cast<BadRow>(reason)));
    }
    return std::to_string(total) + (total == 1 ? " row was" : " rows were") + " skipped" + reasons;
  }

  void finish() {
    std::vector<Request>& requests = demand_.requests;
    if (requests.empty())
      throw InputError(options_.path + ": the file has no usable request; " + skipped());
    const auto is_whole = [](const Request& request) { return request.time_us % minute_us == 0; };
    const auto whole = static_cast<std::size_t>(std::ranges::count_if(requests, is_whole));
    if (options_.spreads_minutes && whole * whole_share_told > requests.size()) {
      demand_.spread_us = minute_us;
      for (std::size_t i = 0; i < requests.size(); ++i)
        if (is_whole(requests[i]))
          requests[i].time_us += static_cast<std::int64_t>(
              Random(options_.seed, Draw::spreading, i).below(std::uint64_t{minute_us}));
    }
    std::ranges::stable_sort(requests, {}, &Request::time_us);
    // The simulation starts at the full minute at or before the first request.
    std::int64_t into_minute_us = requests.front().time_us % minute_us;
    if (into_minute_us < 0) into_minute_us += minute_us;
    demand_.start_us = requests.front().time_us - into_minute_us;
    demand_.end_us = requests.back().time_us + 1;
    constexpr std::int64_t day_us = 86'400'000'000;
    const std::int64_t days = (demand_.end_us - demand_.start_us) / day_us;
    if (days > days_max && options_.length_us > days * day_us)
      throw InputError(options_.path + ": its requests span " + std::to_string(days) +
                       " days, so one of them may have a wrong time; remove it, or say with --for "
                       "how long to simulate");
    if (options_.length_us < demand_.end_us - demand_.start_us) {
      demand_.end_us = demand_.start_us + options_.length_us;
      const auto first_late =
          std::ranges::lower_bound(requests, demand_.end_us, {}, &Request::time_us);
      demand_.outside_time = static_cast<std::uint64_t>(requests.end() - first_late);
      requests.erase(first_late, requests.end());
      if (requests.empty())
        throw UsageError("--for: " + options_.path +
                         " has no request in so short a time, which begins at the last full "
                         "minute up to its first request");
    }
    for (const Request& request : requests) {
      demand_.area.add(request.pickup);
      demand_.area.add(request.dropoff);
    }
    demand_.is_geographic = columns_.geographic;
    demand_.source = std::filesystem::path(options_.path).filename().string();
  }

  const RequestFileOptions& options_;
  std::size_t width_ = 0;  ///< the number of columns that the header names; 0: there is no header
  RequestColumns columns_;
  std::vector<RawRequest> rows_;
  Area allowed_;
  Point origin_;
  double unit_x_m_ = 1;
  double unit_y_m_ = 1;
  Demand demand_;
};

}  // namespace

Demand read_request_file(const RequestFileOptions& options) {
  return RequestReader(options).read();
}

}  // namespace starling::sim::city
