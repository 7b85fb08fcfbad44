// SPDX-License-Identifier: Apache-2.0
// The names of the spaces: see space.hpp.
#include "starling/knn/words/space.hpp"

namespace starling {

std::string_view to_string(Space space) {
  switch (space) {
    case Space::planar2:
      return "planar2";
    case Space::planar3:
      return "planar3";
    case Space::wgs84:
      return "wgs84";
    case Space::vector:
      return "vector";
  }
  return "unknown";
}

std::optional<Space> space_from_string(std::string_view text) {
  for (const Space space : {Space::planar2, Space::planar3, Space::wgs84})
    if (text == to_string(space)) return space;
  return std::nullopt;
}

}  // namespace starling
