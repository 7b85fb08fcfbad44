// From paths and options to layouts, space and rows: see trace_files.hpp.
#include "sim/trace_files.hpp"

#include <algorithm>
#include <filesystem>

namespace starling::sim {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> list_files(std::span<const std::string> paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    const auto first = static_cast<std::ptrdiff_t>(files.size());
    for (const fs::directory_entry& entry : fs::directory_iterator(path))
      if (entry.is_regular_file() && !entry.path().filename().string().starts_with('.'))
        files.push_back(entry.path().string());
    std::sort(files.begin() + first, files.end());
  }
  if (files.empty()) throw TraceError("the trace holds no file");
  return files;
}

std::string layout_names() {
  std::string names;
  for (const Layout& layout : layouts()) names += std::string(layout.name) + ", ";
  return names + "auto";
}

}  // namespace

Trace::Trace(std::span<const std::string> paths, const TraceOptions& options) : options_(options) {
  for (const std::string& path : list_files(paths)) {
    files_.push_back(identify(path));
    agree_on_space(files_.back());
  }
}

Trace::File Trace::identify(const std::string& path) const {
  File file{path, nullptr, {}};
  if (options_.format != "auto") {
    file.layout = find_layout(options_.format);
    if (!file.layout)
      throw UsageError("--format '" + options_.format + "' is not one of " + layout_names());
  } else {
    file.layout = options_.columns.empty() ? recognise_layout(path) : find_layout("csv");
    if (!file.layout)
      throw TraceError(path +
                       ": its layout is not recognised; name it with --format, or give a "
                       "CSV file's columns with --columns");
  }
  if (!file.layout->columns.empty() && !options_.columns.empty())
    throw UsageError("--columns belongs to --format csv; " + std::string(file.layout->title) +
                     " has its own");
  if (file.layout->columns.empty() && options_.columns.empty())
    throw UsageError("--format csv needs --columns, such as id=...,time=...,lat=...,lon=...");
  file.columns = parse_columns(file.layout->columns.empty() ? std::string_view(options_.columns)
                                                            : file.layout->columns);
  if (options_.altitude && (!file.columns.geographic || file.columns.z().empty()))
    throw UsageError("--altitude: there is no altitude in " + path);
  return file;
}

void Trace::agree_on_space(const File& file) {
  const Space file_space = file.layout->either_space ? Space::planar2 : default_space(file.columns);
  const Space space = options_.space.value_or(file_space);
  if (!file.layout->either_space && (space == Space::wgs84) != file.columns.geographic)
    throw UsageError("--space " + std::string(to_string(space)) + " does not fit " + file.path +
                     ", whose positions are " +
                     (file.columns.geographic ? "latitudes and longitudes" : "metres"));
  if (&file != &files_.front() && space != space_)
    throw UsageError(file.path + " is of space " + std::string(to_string(space)) + ", but " +
                     files_.front().path + " of " + std::string(to_string(space_)) +
                     "; a trace has one space");
  space_ = space;
}

bool Trace::is_geographic(const File& file) const {
  return file.columns.geographic || (file.layout->either_space && space_ == Space::wgs84);
}

RowRules Trace::rules_for(const File& file) const {
  RowRules rules;
  rules.time = {options_.time_unit.value_or(file.layout->time_unit), options_.utc_offset_us};
  rules.geographic = is_geographic(file);
  rules.needs_z =
      rules.geographic ? options_.altitude : space_ == Space::planar3 && !file.columns.z().empty();
  rules.z_unit_m = file.layout->z_unit_m;
  rules.keep_null_island = options_.keep_null_island;
  rules.strict = options_.strict;
  return rules;
}

void Trace::read(const Lattice& lattice, NameTable& names, TraceCounts& counts,
                 const RowHandler& handler) const {
  for (const File& file : files_) {
    TextInput input(file.path);
    RowParser parser(rules_for(file), lattice, names, counts);
    const RecordOptions record_options{file.columns, options_.persons};
    file.layout->read(input, record_options, [&](const RowText& text) {
      if (const std::optional<TraceRow> row = parser.parse(text, file.path)) handler(*row);
    });
  }
}

}  // namespace starling::sim
