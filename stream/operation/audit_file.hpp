// SPDX-License-Identifier: Apache-2.0
// The file of the audit log. A thread of its own writes the lines, as it does those of the log, so
// that a slow disk cannot hold the server. Server owns an AuditFile, and Audit writes to it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace starling::stream {

class AuditFile {
 public:
  /// Appends to the file, which is made with mode 0600 if there is none. "-" is stderr. Throws
  /// std::runtime_error with one sentence if the file cannot be opened.
  explicit AuditFile(const std::string& path);
  /// Waits up to a second until all lines are written.
  ~AuditFile();

  /// Appends the line and a newline. Any thread may call it.
  void write(const std::string& line);

  /// Returns the number of lines that were dropped so far, because they could not be written in
  /// time. A line of the file says how many are missing where.
  std::uint64_t dropped() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
