// SPDX-License-Identifier: Apache-2.0
// The file `identity` in a log's folder tells the folder from a copy of it: it says when it and the
// newest segment were made, and copies are made later. The server calls it at its start, because a
// log that was put back from a copy may lack what was acknowledged since.
#pragma once

#include <string_view>

#include "starling/log/files.hpp"

namespace starling::log {

constexpr std::string_view identity_name = "identity";
constexpr std::string_view unfinished_identity_name = "identity.unfinished";

/// Returns whether the folder has the identity of other files. A folder without an identity is a
/// copy if its log `had_identity`. A file system that does not say when files were made hides a
/// copy that includes the identity. Throws IoError.
bool is_copy(Files& files, bool had_identity);

/// Writes the identity of the folder. Returns when it is on the disk. Throws NoSpace, IoError.
void write_identity(Files& files);

/// Writes an identity that is that of other files on every file system. Throws NoSpace, IoError.
void mark_as_copy(Files& files);

}  // namespace starling::log
