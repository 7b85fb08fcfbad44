// SPDX-License-Identifier: Apache-2.0
// The file `identity` in a log's folder holds the creation times of itself and of the newest
// segment. In a copy of the folder these files have later times. The server compares the times when
// it starts, because a log restored from a copy may lack updates that were acknowledged since.
#pragma once

#include <string_view>

#include "starling/log/files.hpp"

namespace starling::log {

constexpr std::string_view identity_name = "identity";
constexpr std::string_view unfinished_identity_name = "identity.unfinished";

/// Returns whether the folder is a copy: its identity was written for other files. A folder without
/// an identity is a copy if its log `had_identity`. On a file system without creation times, a copy
/// that includes the identity is not recognized. Throws IoError.
bool is_copy(Files& files, bool had_identity);

/// Returns whether the folder has an identity, its own or that of a copy. Throws IoError.
bool has_identity(const Files& files);

/// Writes the identity of the folder. Returns when it is on the disk. `has_groups`: the newest
/// segment has groups. The identity does not name a segment without groups, because the Writer may
/// replace it (Writer::commit). Throws NoSpace, IoError.
void write_identity(Files& files, bool has_groups);

/// Writes an identity that makes is_copy() return true on every file system. Throws NoSpace,
/// IoError.
void mark_as_copy(Files& files);

}  // namespace starling::log
