// SPDX-License-Identifier: Apache-2.0
// Writes text to a file or to the standard output. If the file's name ends in .gz or .zst, the text
// is compressed. The writers of results and traces use TextOutput.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "starling/sim/data/files/pending_file.hpp"

namespace starling::sim {

class TextOutput {
 public:
  enum class Appears : std::uint8_t {
    at_once,      ///< the file exists from the start, so other programs can read it while it grows
    when_closed,  ///< the file has no name until it is closed, so it is complete or absent
  };

  /// "-" is the standard output. On a terminal, text is escaped as plain_text() does. A file whose
  /// name ends in .gz or .zst is compressed. Symbolic links are followed. Anything but a regular
  /// file, such as a pipe, is always opened at once. The constructor, check() and the members that
  /// write throw std::runtime_error on failure.
  TextOutput(const std::string& path, Appears appears);

  /// Throws the error that opening `path` would throw, but does not change the file. A caller that
  /// opens its output late calls check() first.
  static void check(const std::string& path);

  /// Returns true if `path` is a regular file or does not exist. Opening anything else, such as a
  /// pipe, destroys no old content.
  static bool is_ordinary(const std::string& path);

  /// Releases the file. A file with Appears::when_closed that was not closed is deleted.
  ~TextOutput();
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;

  void write(std::string_view text);

  /// Passes everything written so far to the operating system.
  void flush();

  /// Overwrites the first bytes of the file with `text`. Fails for compressed files.
  void rewrite_start(std::string_view text);

  /// Writes everything that belongs to the file, so that close() cannot fail for lack of space. If
  /// several files should appear together, finish all of them before closing the first.
  void finish();

  /// Finishes the file and gives it its name.
  void close();

  /// Stores the bytes, compressed or plain. A function that fails returns false and sets errno.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual bool write(std::string_view text) = 0;
    virtual bool flush() = 0;
    virtual bool rewrite_start(std::string_view text);
    virtual bool close() = 0;
  };

 private:
  int open_descriptor(Appears appears);
  [[noreturn]] void fail(std::string_view what) const;

  std::string path_;
  std::unique_ptr<PendingFile> pending_;  ///< null if the file is opened at once
  std::unique_ptr<Sink> sink_;
  bool is_finished_ = false;
};

}  // namespace starling::sim
