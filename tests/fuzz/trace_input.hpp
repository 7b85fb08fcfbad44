// SPDX-License-Identifier: Apache-2.0
// MemoryFile gives an input a path, so that it can be read as a file. read_trace reads a trace from
// a MemoryFile. It checks that only InputError and UsageError are thrown and that the trace counts
// as many rows as it returns. Called by the fuzz targets that read files.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/traces/trace_files.hpp"
#include "tests/fuzz/target.hpp"

namespace starling::fuzz {

class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text) : fd_(memfd_create("input", MFD_CLOEXEC)) {
    while (fd_ >= 0 && !text.empty()) {
      const ssize_t count = write(fd_, text.data(), text.size());
      if (count <= 0) break;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    if (fd_ < 0 || !text.empty()) throw std::runtime_error("memfd_create failed");
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

inline void read_trace(const MemoryFile& file, const sim::TraceOptions& options) {
  sim::TraceCounts counts;
  std::uint64_t rows = 0;
  try {
    const std::string paths[] = {file.path()};
    const sim::Trace trace(paths, options);
    const Lattice lattice({.space = trace.space()});
    sim::NameTable names;
    trace.read(lattice, names, counts, [&](const sim::TraceRow& row) {
      ++rows;
      LatticePoint point;
      check_invariant(lattice.to_lattice(row.position, point) == PositionError::none,
                      "a row has a position on the lattice");
    });
    check_invariant(rows == counts.rows, "every good row is handed on");
  } catch (const sim::InputError& error) {
    check_invariant(*error.what() != '\0', "an error says something");
  } catch (const sim::UsageError& error) {
    check_invariant(*error.what() != '\0', "an error says something");
  }
}

}  // namespace starling::fuzz
