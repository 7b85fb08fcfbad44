// SPDX-License-Identifier: Apache-2.0
// The flags of a place, for the commands put and ask: --lon --lat [--alt] or --x --y [--z].
#pragma once

#include <cstdint>
#include <optional>

#include "starling/knn/words/space.hpp"

namespace CLI {
class App;
}

namespace starling::apps {

/// The values of the flags. The struct must outlive the parsing.
struct PlaceFlags {
  std::optional<double> lon, lat, alt, x, y, z;

  bool is_given() const { return lon || lat || alt || x || y || z; }
};

void add_place_flags(CLI::App& command, PlaceFlags& flags);

/// Throws CLI::ValidationError unless the flags name one whole place. Call if is_given().
void check_place(const PlaceFlags& flags);

struct Place {
  Position position{};
  std::uint8_t components = 2;  ///< number of coordinates in `position` that count
};

/// Returns the place in the server's space. Throws CLI::ValidationError, which says what to give
/// instead, if the flags do not fit this space. Call after check_place().
Place place_in(const PlaceFlags& flags, Space space);

}  // namespace starling::apps
