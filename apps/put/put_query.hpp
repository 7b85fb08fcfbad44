// SPDX-License-Identifier: Apache-2.0
// `starling put stream` and `starling put query`: make a stream, and a standing query that reports
// to it.
#pragma once

#include <cstdint>
#include <string>

#include "starling/apps/shared/server/filter_flags.hpp"
#include "starling/apps/shared/server/place_flags.hpp"
#include "starling/apps/shared/server/server_flags.hpp"

namespace starling::apps {

/// The flags as the user typed them. CLI11 fills this struct.
struct PutStreamFlags {
  ServerFlags server;
  std::string name;
  std::string on = "order";
  std::string with_distance = "true";
  bool with_position = false;
  bool with_tags = false;
  bool json = false;
};

struct PutQueryFlags {
  ServerFlags server;
  std::string stream;
  std::string id;
  PlaceFlags place;
  std::string follow;
  bool every_object = false;
  FilterFlags filter;
  TagFilter subject;
  std::string lease;
  bool json = false;
};

/// Both return the exit status. put_query() throws CLI::ValidationError if flags do not fit
/// together or do not fit the server's space.
int put_stream(const PutStreamFlags& flags);
int put_query(const PutQueryFlags& flags);

}  // namespace starling::apps
