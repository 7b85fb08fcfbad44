// SPDX-License-Identifier: Apache-2.0
// A folder on the machine's disk, for the log.
#pragma once

#include <memory>
#include <string>

#include "starling/log/files.hpp"

namespace starling::log {

enum class FolderUse {
  write,  ///< makes the folder if it is missing, and locks it against other processes
  /// neither makes nor locks; for programs that read beside a writer. Lists the segments and
  /// snapshots that there were when it was opened. They stay readable when a writer removes them
  read,
};

/// Opens a folder. Folders that it makes have mode 0700, files 0600. Throws FolderLocked if another
/// process, or this one, has it open for writing; IoError if it cannot be opened.
std::unique_ptr<Files> open_folder(const std::string& path, FolderUse use);

}  // namespace starling::log
