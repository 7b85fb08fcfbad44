// SPDX-License-Identifier: Apache-2.0
// The file of the audit log. A separate thread writes the lines, so that a slow disk cannot hold
// the server. Server owns an AuditFile, and Audit writes to it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace starling::stream {

class AuditFile {
 public:
  /// Opens the file to append to it. Makes it with mode 0600 if it does not exist. "-" is stderr.
  /// Throws std::runtime_error with one sentence if the file cannot be opened, or if others than
  /// its owner may write to it.
  explicit AuditFile(const std::string& path);
  /// Waits up to a second until all lines are written.
  ~AuditFile();

  /// Appends the line and a newline. Any thread may call it.
  void write(const std::string& line);

  /// Returns the number of lines that were dropped so far, because they could not be written in
  /// time. At each gap, a line of the file says how many lines are missing.
  std::uint64_t dropped() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
