// SPDX-License-Identifier: Apache-2.0
// Writes and reads the lines of a log's header: see kept_options.hpp.
#include "starling/stream/journal/kept_options.hpp"

#include <algorithm>
#include <charconv>
#include <iomanip>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "starling/knn/base/time_text.hpp"
#include "starling/knn/tables/object_rows.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::stream {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

std::string number_text(double value) {
  std::ostringstream text;
  text << std::setprecision(17) << value;
  return text.str();
}

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::size_t at = std::min(line.find('='), line.size());
    lines.emplace_back(line.substr(0, at), at < line.size() ? line.substr(at + 1) : "");
  }
  return lines;
}

std::optional<std::string> value_in(const Lines& lines, const std::string& flag) {
  for (const auto& [name, value] : lines)
    if (name == flag) return value;
  return std::nullopt;
}

/// Returns "90s" for "90000000us", and other values as they are.
std::string readable_value(const std::string& value) {
  std::int64_t duration_us = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, duration_us);
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  return error == std::errc{} && unit == "us" ? duration_text(duration_us) : value;
}

[[noreturn]] void refuse(const std::string& flag, const std::string& value) {
  throw std::runtime_error("the log was written with " + flag + " " + value +
                           ", which this program does not know; use a later version of Starling");
}

/// Reads the values of the lines. Refuses a value that has more characters than its number and
/// unit.
class Values {
 public:
  explicit Values(const std::string& text) : lines_(lines_of(text)) {}

  bool has(const std::string& flag) const { return value_in(lines_, flag).has_value(); }
  std::string text(const std::string& flag) const {
    const auto value = value_in(lines_, flag);
    if (!value) refuse(flag, "(left out)");
    return *value;
  }
  template <class Number>
  Number number(const std::string& flag, std::string_view unit = "") const {
    return number_in<Number>(flag, text(flag), unit);
  }
  template <class Number>
  static Number number_in(const std::string& flag, const std::string& value,
                          std::string_view unit = "") {
    Number number{};
    const char* const end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc{} ||
        std::string_view(stop, static_cast<std::size_t>(end - stop)) != unit)
      refuse(flag, value);
    return number;
  }
  /// Refuses a line with a flag that is not in `flags`.
  void check_known(const std::vector<std::string>& flags) const {
    for (const auto& [name, value] : lines_)
      if (std::ranges::find(flags, name) == flags.end()) refuse(name, value);
  }

 private:
  Lines lines_;
};

SpaceOptions space_in(const Values& values) {
  SpaceOptions space;
  const std::string name = values.text("--space");
  constexpr std::string_view vector_begin = "vector:";
  if (name.starts_with(vector_begin)) {
    space.space = Space::vector;
    space.dimension = Values::number_in<std::uint32_t>("--space", name.substr(vector_begin.size()));
    const std::string metric = values.text("--metric");
    const auto known = metric_named(metric);
    if (!known) refuse("--metric", metric);
    space.metric = *known;
    return space;
  }
  const auto known = space_from_string(name);
  if (!known) refuse("--space", name);
  space.space = *known;
  space.resolution_m = values.number<double>("--resolution");
  std::istringstream origin(values.text("--origin"));
  for (double& coordinate : space.origin) {
    std::string part;
    std::getline(origin, part, ',');
    coordinate = Values::number_in<double>("--origin", part);
  }
  return space;
}

}  // namespace

std::string to_text(const KeptOptions& options) {
  const SpaceOptions& space = options.space;
  std::string text = "--space=" + std::string(to_string(space.space));
  if (space.is_vector())
    text += ':' + std::to_string(space.dimension) +
            "\n--metric=" + std::string(name_of(space.metric)) + '\n';
  else
    text += "\n--resolution=" + number_text(space.resolution_m) +
            "\n--origin=" + number_text(space.origin[0]) + ',' + number_text(space.origin[1]) +
            ',' + number_text(space.origin[2]) + '\n';
  const bool never_expire = options.object_ttl_us == ObjectTableOptions::never_us;
  text += "--object-ttl=" + (never_expire ? "none" : std::to_string(options.object_ttl_us) + "us") +
          '\n';
  text += "--tombstone-ttl=" + std::to_string(options.tombstone_ttl_us) + "us\n";
  text += "--neighbors-max=" + std::to_string(options.neighbors_max) + '\n';
  text += std::string("--keys=") + (options.has_keys ? "given" : "none") + '\n';
  return text;
}

KeptOptions kept_options_from(const std::string& text) {
  const Values values(text);
  values.check_known({"--space", "--metric", "--resolution", "--origin", "--object-ttl",
                      "--tombstone-ttl", "--neighbors-max", "--keys"});
  KeptOptions options;
  options.space = space_in(values);
  options.object_ttl_us = values.text("--object-ttl") == "none"
                              ? ObjectTableOptions::never_us
                              : values.number<std::int64_t>("--object-ttl", "us");
  options.tombstone_ttl_us = values.number<std::int64_t>("--tombstone-ttl", "us");
  options.neighbors_max = values.number<std::uint64_t>("--neighbors-max");
  options.has_keys = values.text("--keys") == "given";
  return options;
}

std::string readable_text(const std::string& text) {
  std::string readable;
  for (const auto& [flag, value] : lines_of(text))
    readable += flag + '=' + readable_value(value) + '\n';
  return readable;
}

std::string difference(const std::string& old_text, const std::string& new_text) {
  const Lines old_lines = lines_of(old_text);
  std::string differing;
  for (const auto& [flag, value] : lines_of(new_text)) {
    const std::string old = value_in(old_lines, flag).value_or("unknown");
    if (old == value) continue;
    differing += (differing.empty() ? "" : ", and ") + flag + " was " + readable_value(old) +
                 " and is " + readable_value(value);
  }
  return differing;
}

}  // namespace starling::stream
