// SPDX-License-Identifier: Apache-2.0
// Prepares the process before a command runs, and checks the standard output after it. Called by
// main.
#pragma once

namespace starling::apps {

/// Opens the descriptors 0, 1 and 2 that are closed, so that no file of a command gets one of these
/// numbers. Writes to them fail.
void open_standard_streams();

/// Ignores SIGXFSZ. A file that grows beyond the limit of the process then fails to be written, as
/// on a full disk; otherwise the signal would end the program without a message.
void report_file_size_limit();

/// Throws std::runtime_error if a part of the standard output could not be written.
void flush_standard_output();

}  // namespace starling::apps
