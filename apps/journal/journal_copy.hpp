// SPDX-License-Identifier: Apache-2.0
// Copies a log to another folder, for `starling journal backup` and `restore`. A server may go on
// writing the log: the copy is what the log held at one moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "starling/stream/journal/records.hpp"

namespace starling::apps {

enum class CopyPurpose : std::uint8_t { backup, restore };

struct CopiedLog {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;  ///< number since the oldest snapshot, or in the whole log
  std::optional<stream::TickBegunRecord> last_tick{};
};

/// Copies the log in `from` to the folder `to`, which must be empty or absent, and reads the whole
/// copy to check it. `to` appears when it is complete. A server that starts with a restored log
/// begins a new epoch. Throws std::runtime_error with a sentence, log::IoError, log::DamagedLog,
/// stream::UnknownRecord; then there is no copy.
CopiedLog copy_log(const std::string& from, const std::string& to, CopyPurpose purpose);

}  // namespace starling::apps
