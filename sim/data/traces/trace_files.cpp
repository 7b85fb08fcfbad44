// SPDX-License-Identifier: Apache-2.0
// Lists the files, determines layouts and space, and reads the rows: see trace_files.hpp.
#include "starling/sim/data/traces/trace_files.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "starling/knn/base/clocks.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/files/quoted_text.hpp"
#include "starling/sim/data/traces/common_headers.hpp"
#include "starling/sim/data/traces/csv_table.hpp"
#include "starling/sim/data/traces/record_readers.hpp"

namespace starling::sim {
namespace {

namespace fs = std::filesystem;

struct FoundFile {
  std::string path;
  bool in_directory = false;  ///< found in a directory, not named by the user
};

std::vector<FoundFile> list_files(std::span<const std::string> paths) {
  std::vector<FoundFile> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back({path});
      continue;
    }
    const auto first = static_cast<std::ptrdiff_t>(files.size());
    for (const fs::directory_entry& entry : fs::directory_iterator(path))
      if (entry.is_regular_file() && !entry.path().filename().string().starts_with('.'))
        files.push_back({entry.path().string(), true});
    std::sort(files.begin() + first, files.end(),
              [](const FoundFile& a, const FoundFile& b) { return a.path < b.path; });
  }
  if (files.empty())
    throw InputError("the trace has no files: hidden files and subdirectories are not read");
  return files;
}

std::string layout_names() {
  std::string names;
  for (const Layout& layout : layouts())
    names.append(names.empty() ? "" : ", ").append(layout.name);
  return names;
}

std::string more_files(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " more file" : " more files");
}

std::string ways_to_tell() {
  return "name the layout with --format (" + layout_names() +
         "), or the columns of a CSV file with --columns id=...,time=..., and lat=...,lon=... "
         "(degrees) or "
         "x=...,y=... (metres)";
}

std::string first_line(const std::string& text) {
  constexpr std::size_t shown_max = 100;
  const std::string line = text.substr(0, text.find_first_of("\r\n"));
  return line.size() <= shown_max ? line : line.substr(0, shown_max) + "...";
}

/// Returns what the header of a CSV file lacks and which names are known, or an empty text if the
/// file has no header with a known name.
std::string header_fault(const FileHead& head) {
  const std::string fault = head.records.empty() ? "" : fault_of_header(head.records.back());
  return fault.empty() ? "" : fault + " (known names " + common_column_names() + "); ";
}

/// Adds columns for the tags and the date to those of a published layout, if the header has names
/// in common use for them. These names mean the same in every table.
void add_common_columns(const Layout& layout, const FileHead& head, Columns& columns) {
  std::vector<std::string> header;
  if (layout.read == read_json_records) header = keys_of_first_record(head.text);
  if (layout.read == read_csv_records && !columns.by_number)
    for (const std::vector<std::string>& record : head.records)
      if (has_columns(record, columns)) header = record;
  for (const std::string& name : header) {
    const CommonColumn column = common_column_of(name);
    if (column == CommonColumn::tags && columns.tags().empty()) columns.names[5] = trim(name);
    if (column == CommonColumn::date && columns.clock.empty())
      columns.clock = std::exchange(columns.names[1], std::string(trim(name)));
  }
}

/// Returns a note about the column that --columns takes as tag bits, or an empty text if there is
/// no such column or it is called "tags".
std::string note_on_tags(const std::string& columns_flag) {
  if (columns_flag.empty()) return {};
  const std::string name = parse_columns(columns_flag).tags();
  if (name.empty() || name == "tags") return {};
  return "tags=" + printable_text(name) +
         " takes each number of this column as 32 tag bits: 70, for example, sets the bits 1, 2 "
         "and "
         "6";
}

}  // namespace

Trace::Trace(std::span<const std::string> paths, const TraceOptions& options) : options_(options) {
  for (const FoundFile& found : list_files(paths)) {
    std::optional<File> file = open(found.path, found.in_directory);
    if (!file) continue;
    files_.push_back(std::move(*file));
    agree_on_space(files_.back());
    if (options_.altitude && !(is_geographic(files_.back()) && needs_z(files_.back())))
      throw UsageError("--altitude: there is no altitude in " + found.path);
    note_layout(files_.back(), is_guessed());
  }
  if (files_.empty() && empty_count_ == left_out_.size())
    throw InputError(empty_count_ == 1 ? paths.front() + ": the trace is empty"
                                       : "all files of the trace are empty");
  if (files_.empty())
    throw InputError("no file of the trace has a layout that is recognised; " + ways_to_tell());
  refuse_some_altitudes();
}

// Refuses a trace in which only some files have altitudes. Objects without altitude would be placed
// at sea level, far below the others.
void Trace::refuse_some_altitudes() const {
  const auto needs = [this](const File& file) { return needs_z(file); };
  const auto with = std::ranges::find_if(files_, needs);
  const auto without = std::ranges::find_if_not(files_, needs);
  if (with == files_.end() || without == files_.end()) return;
  throw UsageError(with->path + " has altitudes and " + without->path +
                   " has none; read the files one by one, or leave the altitudes out with "
                   "--columns");
}

std::vector<std::string> Trace::paths() const {
  std::vector<std::string> paths;
  for (const File& file : files_) paths.push_back(file.path);
  return paths;
}

bool Trace::is_guessed() const {
  return options_.format == "auto" && options_.columns.empty();
}

std::optional<Trace::File> Trace::open(const std::string& path, bool in_directory) {
  std::shared_ptr<Pipe> pipe;
  try {
    pipe = std::make_shared<Pipe>(path);
  } catch (const NoTextError& error) {
    if (!in_directory) throw;
    left_out_.push_back(std::string(error.what()) + "; left out");
    return std::nullopt;
  }
  const FileHead head = read_head(pipe->input);
  if (is_guessed() && head.text.find_first_not_of(" \t\r\n") == std::string::npos) {
    ++empty_count_;
    left_out_.push_back(path + ": left out, because it is empty");
    return std::nullopt;
  }
  std::optional<File> file = is_guessed() ? recognise(path, head) : as_told(path, head);
  if (!file && in_directory) {
    left_out_.push_back(path + ": left out, because its layout is not recognised");
    return std::nullopt;
  }
  if (!file)
    throw InputError(path + ": its layout is not recognised: it begins with " +
                     quoted_text(first_line(head.text)) + "; " + header_fault(head) +
                     ways_to_tell());
  file->undone = pipe->input.undone();
  file->habits = habits_in(head, *file->layout, file->columns, options_.date_order);
  if (file->layout->either_space && options_.space == Space::wgs84) file->habits.evidence.clear();
  if (!fs::is_regular_file(path)) file->pipe = std::move(pipe);
  return file;
}

std::optional<Trace::File> Trace::recognise(const std::string& path, const FileHead& head) {
  if (const Layout* const layout = recognise_layout(head)) {
    File file{path, layout, columns_in(*layout, head)};
    add_common_columns(*layout, head, file.columns);
    return file;
  }
  for (const std::vector<std::string>& record : head.records)
    if (const std::optional<CommonColumns> common = find_common_columns(record))
      return File{path, find_layout("csv"), common->columns, common->time_unit};
  if (const std::optional<CommonColumns> common =
          find_common_columns(keys_of_first_record(head.text)))
    return File{path, find_layout("json"), common->columns, common->time_unit};
  return std::nullopt;
}

std::optional<Trace::File> Trace::as_told(const std::string& path, const FileHead& head) const {
  const std::string_view json_or_csv = head.first() == '{' || head.first() == '[' ? "json" : "csv";
  const Layout* const layout =
      find_layout(options_.format == "auto" ? json_or_csv : options_.format);
  if (!layout)
    throw UsageError("--format " + quoted_text(options_.format) + " is not one of auto, " +
                     layout_names());
  if (!layout->columns.empty() && !options_.columns.empty())
    throw UsageError("--columns needs --format csv or json; " + std::string(layout->title) +
                     " has fixed columns");
  if (!layout->columns.empty()) return File{path, layout, columns_in(*layout, head)};
  if (options_.columns.empty())
    throw UsageError("--format " + std::string(layout->name) +
                     " needs --columns, such as id=...,time=...,lat=...,lon=...");
  return File{path, layout, parse_columns(options_.columns)};
}

void Trace::note_layout(const File& file, bool is_guessed) {
  const auto same = std::ranges::find_if(sightings_, [&](const Sighting& seen) {
    return seen.layout == file.layout && seen.columns == file.columns.names &&
           seen.date_order == file.habits.date_order &&
           seen.decimal_mark == file.habits.decimal_mark;
  });
  if (same != sightings_.end()) {
    ++same->count;
    return;
  }
  std::string text = file.path + ": ";
  if (is_guessed)
    text += std::string(file.layout->title) + ", " + std::string(to_string(space_)) + " (" +
            mark_of(*file.layout, file.columns) + file.habits.evidence + ")";
  else if (!file.habits.evidence.empty())
    text += file.habits.evidence.substr(std::string_view("; ").size());
  else
    return;
  sightings_.push_back({file.layout, file.columns.names, file.habits.date_order,
                        file.habits.decimal_mark, std::move(text)});
}

std::vector<std::string> Trace::notes() const {
  constexpr std::size_t left_out_lines_max = 3;
  std::vector<std::string> lines;
  lines.reserve(sightings_.size() + left_out_lines_max + 1);
  for (const Sighting& seen : sightings_)
    lines.push_back(seen.text + (seen.count > 1 ? ", and " + more_files(seen.count - 1) : ""));
  const std::size_t shown = std::min(left_out_.size(), left_out_lines_max);
  for (std::size_t i = 0; i < shown; ++i) lines.push_back(left_out_[i]);
  if (left_out_.size() > shown) lines.push_back(more_files(left_out_.size() - shown) + " left out");
  if (const std::string note = note_on_tags(options_.columns); !note.empty()) lines.push_back(note);
  return lines;
}

void Trace::agree_on_space(const File& file) {
  const Space file_space = file.layout->either_space ? Space::planar2 : default_space(file.columns);
  const Space space = options_.space.value_or(file_space);
  if (!file.layout->either_space && (space == Space::wgs84) != file.columns.geographic)
    throw UsageError("--space " + std::string(to_string(space)) + " does not fit " + file.path +
                     ", whose positions are " +
                     (file.columns.geographic ? "latitudes and longitudes" : "metres"));
  if (&file != &files_.front() && space != space_)
    throw UsageError(file.path + " is in space " + std::string(to_string(space)) + ", but " +
                     files_.front().path + " is in " + std::string(to_string(space_)) +
                     "; a trace has one space");
  space_ = space;
}

bool Trace::is_geographic(const File& file) const {
  return file.columns.geographic || (file.layout->either_space && space_ == Space::wgs84);
}

bool Trace::needs_z(const File& file) const {
  if (file.columns.z().empty()) return false;
  if (is_geographic(file)) return options_.altitude || file.layout->altitude_counts;
  return space_ == Space::planar3;
}

bool Trace::has_z() const {
  return std::ranges::any_of(files_, [&](const File& file) { return needs_z(file); });
}

bool Trace::has_tags() const {
  return std::ranges::any_of(files_, [](const File& file) { return !file.columns.tags().empty(); });
}

RowRules Trace::rules_of(const File& file) const {
  RowRules rules;
  rules.time = {options_.time_unit.value_or(file.time_unit.value_or(file.layout->time_unit)),
                options_.utc_offset_us, options_.date_order, file.layout->has_clock_from_zero};
  for (const DateOrder order : {file.layout->date_order, file.habits.date_order})
    if (rules.time.date_order == DateOrder::unknown) rules.time.date_order = order;
  rules.geographic = is_geographic(file);
  rules.needs_z = needs_z(file);
  rules.z_unit_m = file.layout->z_unit_m;
  rules.ais_positions = file.layout->ais_positions;
  rules.keep_null_island = options_.keep_null_island;
  rules.keep_far = options_.keep_far;
  rules.strict = options_.strict;
  rules.any_time = options_.from_us != TraceOptions().from_us ||
                   file.layout->time_unit != TimeUnit::by_magnitude;
  rules.decimal_mark = file.habits.decimal_mark;
  constexpr std::int64_t year_us = 366 * std::int64_t{86'400'000'000};
  rules.newest_time_us = wall_now_us() + year_us;
  return rules;
}

void Trace::read_file(const File& file, RowParser& parser, const RowHandler& handler) const {
  if (file.pipe && std::exchange(file.pipe->is_read, true))
    throw InputError(file.path +
                     ": is a pipe, which can be read only once; write it to a file first");
  std::optional<TextInput> opened;
  TextInput& input = file.pipe ? file.pipe->input : opened.emplace(file.path);
  RecordOptions options = record_options(*file.layout, file.columns);
  options.persons = options_.persons;
  file.layout->read(input, options, [&](const RowText& text) {
    if (const std::optional<TraceRow> row = parser.parse(text, file.path)) handler(*row);
  });
}

void Trace::read(const Lattice& lattice, NameTable& names, TraceCounts& counts,
                 const RowHandler& handler) const {
  std::optional<SpeedLimit> speed_limit;
  if (options_.max_speed_mps) speed_limit.emplace(*options_.max_speed_mps, lattice);
  for (const File& file : files_) {
    RowParser parser(rules_of(file), lattice, names, counts, speed_limit ? &*speed_limit : nullptr);
    read_file(file, parser, [&](const TraceRow& row) {
      if (row.time_us >= options_.from_us && row.time_us <= options_.to_us) return handler(row);
      ++counts.outside;
    });
    parser.refuse_odd_times(file.path);
  }
}

std::vector<TraceRow> Trace::first_rows(const File& file, const Lattice& lattice, NameTable& names,
                                        TraceCounts& counts, std::size_t count) const {
  struct EnoughError {};
  std::vector<TraceRow> rows;
  RowParser parser(rules_of(file), lattice, names, counts, nullptr);
  try {
    read_file(file, parser, [&](const TraceRow& row) {
      rows.push_back(row);
      if (rows.size() == count) throw EnoughError();
    });
  } catch (const EnoughError&) {  // `count` rows have been read
  }
  return rows;
}

}  // namespace starling::sim
