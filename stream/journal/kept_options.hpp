// SPDX-License-Identifier: Apache-2.0
// The options that a log keeps, because its records would mean something else under other values.
// The header of each file of the log has them, as lines such as "--space=planar2".
#pragma once

#include <cstdint>
#include <string>

#include "starling/knn/words/space.hpp"

namespace starling::stream {

struct KeptOptions {
  SpaceOptions space;
  std::int64_t object_ttl_us = 0;  ///< ObjectTableOptions::never_us: objects do not expire
  std::int64_t tombstone_ttl_us = 0;
  std::uint64_t neighbors_max = 0;
  bool has_keys = false;  ///< whether there is a keys file

  bool operator==(const KeptOptions&) const = default;
};

std::string to_text(const KeptOptions& options);
/// Throws std::runtime_error, with a sentence, if a line is missing or is not one that to_text()
/// writes.
KeptOptions kept_options_from(const std::string& text);

/// Returns the lines of to_text() as a person reads them: "--object-ttl=90s", not "90000000us".
std::string readable_text(const std::string& text);

/// Returns the options that differ, such as "--space was planar2 and is planar3"; empty: all are
/// equal.
std::string difference(const std::string& old_text, const std::string& new_text);

}  // namespace starling::stream
