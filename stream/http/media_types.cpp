// SPDX-License-Identifier: Apache-2.0
// Reads Content-Type and Accept (RFC 9110, section 12.5.1): see media_types.hpp.
#include "starling/stream/http/media_types.hpp"

#include <algorithm>
#include <cctype>
#include <compare>
#include <cstddef>

#include "starling/stream/json/value_text.hpp"

namespace starling::stream {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// Removes the text up to the next `separator` from `list`, and returns it without outer blanks.
std::string_view take_item(std::string_view& list, char separator) {
  const std::string_view item = list.substr(0, list.find(separator));
  list.remove_prefix(std::min(list.size(), item.size() + 1));
  return trimmed(item);
}

/// A client's preference for a media type. The client prefers the type with the larger rank.
struct Rank {
  double weight = 0;        ///< the q of the narrowest range that matches; 0: not acceptable
  int narrowness = 0;       ///< 1: the range is "*/*"; 2: "application/*"; 3: the type itself
  std::ptrdiff_t turn = 0;  ///< 0 for the first range of the field, -1 for the second, ...

  auto operator<=>(const Rank&) const = default;
};

int narrowness_of(std::string_view range, std::string_view type) {
  if (range == type) return 3;
  if (range == "*/*") return 1;
  const bool is_group = range.ends_with("/*");
  return is_group && type.starts_with(range.substr(0, range.size() - 1)) ? 2 : 0;
}

/// Returns the weight (q) in the parameters of a range: 1 if there is no q, and 0 if q is not a
/// number from 0 to 1.
double weight_of(std::string_view parameters) {
  while (!parameters.empty()) {
    const std::string_view parameter = take_item(parameters, ';');
    if (!parameter.starts_with("q=") && !parameter.starts_with("Q=")) continue;
    const double weight = parse_double(parameter.substr(2)).value_or(0);
    return weight >= 0 && weight <= 1 ? weight : 0;
  }
  return 1;
}

Rank rank_of(std::string_view accept, std::string_view type) {
  if (trimmed(accept).empty()) return {.weight = 1};
  Rank rank;
  for (std::ptrdiff_t turn = 0; !accept.empty(); --turn) {
    std::string_view item = take_item(accept, ',');
    const std::string range = media_type_of(take_item(item, ';'));
    const int narrowness = narrowness_of(range, type);
    if (narrowness > rank.narrowness) rank = {weight_of(item), narrowness, turn};
  }
  return rank;
}

}  // namespace

std::string media_type_of(std::string_view content_type) {
  std::string type(trimmed(content_type.substr(0, content_type.find(';'))));
  for (char& letter : type)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return type;
}

bool is_json_lines(std::string_view media_type) {
  return media_type == "application/x-ndjson" || media_type == "application/ndjson";
}

bool accepts(std::string_view accept, std::string_view type) {
  return rank_of(accept, type).weight > 0;
}

bool prefers_geo_json(std::string_view accept) {
  const Rank geo_json = rank_of(accept, geo_json_type);
  return geo_json.weight > 0 && geo_json > rank_of(accept, json_type);
}

}  // namespace starling::stream
