// SPDX-License-Identifier: Apache-2.0
// The folder of a log on the machine's disk. The server opens it for writing. Commands open it for
// reading, also while the server writes.
#pragma once

#include <memory>
#include <string>

#include "starling/log/files.hpp"

namespace starling::log {

enum class FolderUse {
  write,  ///< makes the folder if it is missing, and locks it against other processes
  /// neither makes nor locks the folder, so that a program can read while another one writes.
  /// list() returns the segments and snapshots at the time of opening. They stay readable after a
  /// writer removes them
  read,
};

/// Opens a folder. New folders get mode 0700, new files 0600. Throws FolderLocked if the folder is
/// already open for writing, in this process or another. Throws UnsafeFolder if it is to be written
/// and other users could write to it too. Throws IoError if it cannot be opened.
std::unique_ptr<Files> open_folder(const std::string& path, FolderUse use);

}  // namespace starling::log
