// SPDX-License-Identifier: Apache-2.0
// TemporaryDirectory holds the files of a test. read_trace reads a trace and keeps all its rows.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/traces/trace_files.hpp"

namespace starling::sim {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "starling_sim_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string path(std::string_view name = "") const { return (path_ / name).string(); }

  /// Returns the sorted names of all files in the directory, including hidden files.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }

  std::string write(std::string_view name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

  std::string write_gz(std::string_view name, std::string_view text) const {
    const gzFile file = gzopen(path(name).c_str(), "wb");
    EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
              static_cast<int>(text.size()));
    EXPECT_EQ(gzclose(file), Z_OK);
    return path(name);
  }

  std::string write_zst(std::string_view name, std::string_view text) const {
    std::string compressed(ZSTD_compressBound(text.size()), '\0');
    compressed.resize(
        ZSTD_compress(compressed.data(), compressed.size(), text.data(), text.size(), 3));
    return write(name, compressed);
  }

  static std::string read_bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// Returns a file's content as the program reads it, for example decompressed.
  static std::string read(const std::string& path) {
    TextInput input(path);
    std::string text;
    for (std::vector<char> buffer(1 << 20);;) {
      const std::size_t bytes = input.read(buffer);
      text.append(buffer.data(), bytes);
      if (bytes == 0) return text;
    }
  }

 private:
  std::filesystem::path path_;
};

struct ReadTrace {
  std::vector<TraceRow> rows;
  NameTable names;
  TraceCounts counts;
  Space space = Space::planar2;
  std::string layout;
  std::vector<std::string> notes;
};

/// Returns each row as the text "id time_us x y z tags", with "-" for tags if the row has none.
/// Tests compare these texts with rows written by hand.
inline std::vector<std::string> rows_of(const ReadTrace& trace) {
  std::vector<std::string> texts;
  for (const TraceRow& row : trace.rows) {
    NameTable::NumberText buffer;
    std::ostringstream text;
    text.precision(17);
    text << trace.names.text_of(to_number(row.id), buffer) << ' ' << row.time_us;
    for (const double coordinate : row.position) text << ' ' << coordinate;
    text << ' ' << (row.has_tags ? std::to_string(row.tags) : "-");
    texts.push_back(text.str());
  }
  return texts;
}

inline ReadTrace read_trace(const std::vector<std::string>& paths,
                            const TraceOptions& options = {}) {
  const Trace trace(paths, options);
  ReadTrace result;
  result.space = trace.space();
  result.layout = trace.files().front().layout->name;
  result.notes = trace.notes();
  trace.read(Lattice({.space = trace.space()}), result.names, result.counts,
             [&](const TraceRow& row) { result.rows.push_back(row); });
  return result;
}

/// Returns the message of the InputError that ends the reading, or "" if reading succeeds.
inline std::string trace_error(const std::vector<std::string>& paths,
                               const TraceOptions& options = {}) {
  try {
    read_trace(paths, options);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

inline std::string usage_error(const std::vector<std::string>& paths,
                               const TraceOptions& options = {}) {
  try {
    read_trace(paths, options);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

}  // namespace starling::sim
