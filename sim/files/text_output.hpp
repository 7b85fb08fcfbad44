// Text out to a file, compressed as the file's name asks for, or to the standard output. The
// writers of results and of traces stand on it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sim/files/pending_file.hpp"

namespace starling::sim {

class TextOutput {
 public:
  enum class Appears : std::uint8_t {
    at_once,      ///< for readers that follow along
    when_closed,  ///< until then without a name, so that the file is whole or not there
  };

  /// "-" is the standard output; a name that ends in .gz or .zst is compressed; a link is followed.
  /// What is no ordinary file, such as a pipe, is always there at once. Throws std::runtime_error
  /// as do the members.
  TextOutput(const std::string& path, Appears appears);

  /// Throws what opening would, for those who open late; the file stays as it is.
  static void check(const std::string& path);

  /// Whether opening it could cost someone a file: whether it is one, or not there yet.
  static bool is_ordinary(const std::string& path);

  /// Only releases the file; a closed one is there, any other that was to appear is gone.
  ~TextOutput();
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;

  void write(std::string_view text);

  /// Hands everything written so far to the system.
  void flush();

  /// Puts other bytes in place of the first ones that were written; of plain files alone.
  void rewrite_start(std::string_view text);

  /// Writes all that belongs to the file. What can fail for want of room is behind it; where
  /// several files are to appear together, each is finished before the first is closed.
  void finish();

  /// Finishes the file and lets it appear.
  void close();

  /// How the bytes are stored; a member that fails returns false, with errno set.
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
  std::unique_ptr<PendingFile> pending_;  ///< none if the file is there at once
  std::unique_ptr<Sink> sink_;
  bool is_finished_ = false;
};

}  // namespace starling::sim
