// SPDX-License-Identifier: Apache-2.0
// `starling put` without a subcommand: puts one object that flags describe, or the objects of files
// or of the standard input.
#pragma once

#include <string>
#include <vector>

#include "starling/apps/shared/server/place_flags.hpp"
#include "starling/apps/shared/server/server_flags.hpp"

namespace starling::apps {

/// The flags as the user typed them. CLI11 fills this struct.
struct PutObjectsFlags {
  ServerFlags server;
  std::string id;
  PlaceFlags place;
  std::string time;
  std::optional<std::uint32_t> tags;
  std::string name;
  std::vector<std::string> files;
  std::string format = "auto";
  std::string time_unit = "auto";
  std::string date_order;
  bool json = false;
  bool no_wait = false;
};

/// Returns the exit status: 1 if a row was rejected. Throws CLI::ValidationError if flags do not
/// fit together or do not fit the server's space.
int put_objects(const PutObjectsFlags& flags);

}  // namespace starling::apps
