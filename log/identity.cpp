// SPDX-License-Identifier: Apache-2.0
// Writes and compares the births of files: see identity.hpp.
#include "starling/log/identity.hpp"

#include <algorithm>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "starling/log/segment.hpp"

namespace starling::log {
namespace {

/// Bytes of the file. Its one or two lines are shorter, and empty lines fill the rest.
constexpr std::uint64_t identity_bytes = 256;
/// The birth that mark_as_copy() writes.
constexpr std::string_view of_a_copy = "copy";

std::string line_of(std::string_view name, const std::string& birth) {
  return std::string(name) + ' ' + (birth.empty() ? "unknown" : birth) + '\n';
}

void finish(Files& files, File& file, std::string text) {
  text.resize(identity_bytes, '\n');
  file.write(0, std::as_bytes(std::span(text)));
  file.sync();
  files.rename(unfinished_identity_name, identity_name);
  files.sync_folder();
}

}  // namespace

bool is_copy(Files& files, bool had_identity) {
  const std::vector<std::string> names = files.list();
  const auto has = [&](std::string_view name) { return std::ranges::binary_search(names, name); };
  if (!has(identity_name)) return had_identity;
  std::string text(identity_bytes, '\n');
  files.open(identity_name)->read(0, std::as_writable_bytes(std::span(text)));
  std::istringstream lines(text);
  bool is_written = false;
  for (std::string name, birth; lines >> name >> birth;) {
    is_written = is_written || name == identity_name;
    if (!has(name)) continue;  // the segment was dropped: a snapshot stands for it
    const std::string now = files.birth_of(name);
    if (birth == of_a_copy) return true;
    if (birth != "unknown" && !now.empty() && now != birth) return true;
  }
  return !is_written;
}

bool has_identity(const Files& files) {
  return std::ranges::binary_search(files.list(), identity_name);
}

void write_identity(Files& files, bool has_groups) {
  const auto file = files.create(unfinished_identity_name, identity_bytes);
  std::string text = line_of(identity_name, files.birth_of(unfinished_identity_name));
  if (const auto segments = segment_names(files); has_groups && !segments.empty())
    text += line_of(segments.back(), files.birth_of(segments.back()));
  finish(files, *file, std::move(text));
}

void mark_as_copy(Files& files) {
  const auto file = files.create(unfinished_identity_name, identity_bytes);
  finish(files, *file, line_of(identity_name, std::string(of_a_copy)));
}

}  // namespace starling::log
