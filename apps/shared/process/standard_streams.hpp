// SPDX-License-Identifier: Apache-2.0
// Prepares the process before a command runs, and checks the standard output after it. Called by
// main.
#pragma once

namespace starling::apps {

/// Opens /dev/null, for reading only, for each of the descriptors 0, 1 and 2 that is closed.
/// Otherwise a file of the command could get one of these numbers.
void open_standard_streams();

/// Ignores SIGXFSZ, which would end the program without a message. A write beyond the file size
/// limit of the process then fails with an error, as on a full disk.
void report_file_size_limit();

/// Throws std::runtime_error if a part of the standard output could not be written.
void flush_standard_output();

}  // namespace starling::apps
