// SPDX-License-Identifier: Apache-2.0
// Adds the flags of a place and checks them: see place_flags.hpp.
#include "starling/apps/shared/server/place_flags.hpp"

#include <string>

#include <CLI/CLI.hpp>

namespace starling::apps {

void add_place_flags(CLI::App& command, PlaceFlags& flags) {
  command.add_option("--lon", flags.lon, "The longitude in degrees, on a server of --space wgs84");
  command.add_option("--lat", flags.lat, "The latitude in degrees");
  command.add_option("--alt", flags.alt, "The altitude in metres. Without this flag, 0");
  command.add_option("--x", flags.x, "x in metres, on a server of --space planar2 or planar3");
  command.add_option("--y", flags.y, "y in metres");
  command.add_option("--z", flags.z, "z in metres, on a server of --space planar3");
}

void check_place(const PlaceFlags& flags) {
  const bool on_earth = flags.lon || flags.lat || flags.alt;
  const bool on_plane = flags.x || flags.y || flags.z;
  if (on_earth && on_plane)
    throw CLI::ValidationError(flags.x ? "--x" : (flags.y ? "--y" : "--z"),
                               "a place has either --lon and --lat or --x and --y, not both");
  if (on_earth && !(flags.lon && flags.lat))
    throw CLI::ValidationError(flags.lon ? "--lat" : "--lon", "a place needs both --lon and --lat");
  if (on_plane && !(flags.x && flags.y))
    throw CLI::ValidationError(flags.x ? "--y" : "--x", "a place needs both --x and --y");
}

Place place_in(const PlaceFlags& flags, Space space) {
  const std::string here = "this server's space is " + std::string(to_string(space));
  const bool is_geographic = flags.lon.has_value();
  switch (space) {
    case Space::wgs84:
      if (!is_geographic) throw CLI::ValidationError("--x", here + "; give --lon and --lat");
      return {{*flags.lon, *flags.lat, flags.alt.value_or(0)},
              static_cast<std::uint8_t>(flags.alt ? 3 : 2)};
    case Space::planar2:
      if (is_geographic)
        throw CLI::ValidationError(
            "--lon", here + "; give --x and --y, or start a server with --space wgs84");
      if (flags.z) throw CLI::ValidationError("--z", here + ", which has none; leave it out");
      return {{*flags.x, *flags.y, 0}, 2};
    case Space::planar3:
      if (is_geographic)
        throw CLI::ValidationError(
            "--lon", here + "; give --x, --y and --z, or start a server with --space wgs84");
      if (!flags.z) throw CLI::ValidationError("--z", here + ", so a place needs it");
      return {{*flags.x, *flags.y, *flags.z}, 3};
    case Space::vector:
      break;
  }
  throw CLI::ValidationError(is_geographic ? "--lon" : "--x",
                             here + ", which has no places; name an object instead of a place");
}

}  // namespace starling::apps
