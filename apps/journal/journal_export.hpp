// SPDX-License-Identifier: Apache-2.0
// `starling journal export`: the rows of objects in a server's log as a trace, which `view`,
// `replay` and `convert` read.
#pragma once

#include <cstdint>
#include <string>

namespace starling::apps {

/// Writes the objects of the log's last snapshot, and all rows after it that were accepted or
/// late, to a CSV file[.gz|.zst], in the order of the log. Returns the number of rows. Throws
/// std::runtime_error with a sentence, also for a log of vectors, and log::DamagedLog,
/// log::IoError.
std::uint64_t export_rows(const std::string& folder, const std::string& out);

}  // namespace starling::apps
