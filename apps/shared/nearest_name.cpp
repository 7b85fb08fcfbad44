// SPDX-License-Identifier: Apache-2.0
// Compares names by their Levenshtein distance: see nearest_name.hpp.
#include "starling/apps/shared/nearest_name.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace starling::apps {
namespace {

/// Above this edit distance no name is suggested.
constexpr std::size_t suggested_distance_max = 2;

bool is_same(char one, char other) {
  return one == other || ((one == '-' || one == '_') && (other == '-' || other == '_'));
}

/// Levenshtein distance: the number of letters inserted, deleted or replaced.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  // The distances from a prefix of `from` to each prefix of `to`.
  std::vector<std::size_t> distances(to.size() + 1);
  std::iota(distances.begin(), distances.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = distances[0];
    distances[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (is_same(from[i], to[j]) ? 0 : 1);
      diagonal = distances[j + 1];
      distances[j + 1] = std::min({replaced, distances[j] + 1, distances[j + 1] + 1});
    }
  }
  return distances.back();
}

}  // namespace

std::string nearest_name(std::string_view word, std::span<const std::string> names) {
  const auto distance_to = [word](const std::string& name) { return edit_distance(word, name); };
  const auto nearest = std::ranges::min_element(names, {}, distance_to);
  if (nearest == names.end()) return {};
  const std::size_t distance = distance_to(*nearest);
  return distance <= suggested_distance_max && distance < nearest->size() ? *nearest
                                                                          : std::string();
}

std::string did_you_mean(std::string_view word, std::span<const std::string> names) {
  const std::string name = nearest_name(word, names);
  return name.empty() ? name : "; did you mean " + name + "?";
}

}  // namespace starling::apps
