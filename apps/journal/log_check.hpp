// SPDX-License-Identifier: Apache-2.0
// Reads a log whole, with all of its snapshots: for `starling journal check`, and for copies.
#pragma once

#include "starling/log/files.hpp"
#include "starling/log/reader.hpp"

namespace starling::apps {

/// Reads all snapshots, and the log from the oldest snapshot on, or from its first record if it
/// still has this record. Calls `handler` for each group of the log. Throws as log::check_log()
/// does, and stream::UnknownRecord.
log::LogCheck check_all(
    log::Files& files, const log::GroupHandler& handler = [](const log::Group&) {});

}  // namespace starling::apps
