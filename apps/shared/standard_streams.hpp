// What every command of the program needs of its process before it begins, and of its standard
// output at the end. Called by main.
#pragma once

namespace starling::apps {

/// Opens those of the descriptors 0, 1 and 2 that are closed, so that no file of a command gets
/// one of their numbers. What is written to them fails.
void open_standard_streams();

/// A file that grows beyond the process's limit fails to be written, as on a full disk, in place of
/// a signal that ends the program without a word.
void report_file_size_limit();

/// Throws std::runtime_error unless all that was printed is written.
void flush_standard_output();

}  // namespace starling::apps
