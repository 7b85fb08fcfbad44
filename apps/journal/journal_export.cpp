// SPDX-License-Identifier: Apache-2.0
// Reads rows from a log and writes them as a trace: see journal_export.hpp.
#include "starling/apps/journal/journal_export.hpp"

#include <memory>
#include <optional>
#include <stdexcept>
#include <variant>

#include "starling/knn/words/lattice.hpp"
#include "starling/log/snapshot.hpp"
#include "starling/log/system_files.hpp"
#include "starling/sim/data/files/text_output.hpp"
#include "starling/sim/data/traces/name_table.hpp"
#include "starling/sim/data/traces/trace_writer.hpp"
#include "starling/stream/journal/kept_options.hpp"
#include "starling/stream/journal/record_codec.hpp"
#include "starling/stream/recovery/make_snapshot.hpp"

namespace starling::apps {
namespace {

SpaceOptions space_of(log::Files& files, const std::string& folder) {
  const auto header = log::newest_header(files);
  if (!header) throw std::runtime_error("the folder " + folder + " holds no log");
  const auto& user = header->user;
  const SpaceOptions space =
      stream::kept_options_from({reinterpret_cast<const char*>(user.data()), user.size()}).space;
  if (space.is_vector())
    throw std::runtime_error("the log in " + folder +
                             " is of vectors, and a trace has positions; read its lists with "
                             "starling replay --journal");
  return space;
}

class Export {
 public:
  Export(log::Files& files, const SpaceOptions& space, const std::string& out)
      : files_(files),
        lattice_(space),
        output_(out, sim::TextOutput::Appears::when_closed),
        writer_(sim::make_trace_writer(sim::TraceFormat::csv,
                                       {.geographic = space.space == Space::wgs84,
                                        .has_z = space.space != Space::planar2,
                                        .has_tags = true},
                                       names_, output_)) {}

  std::uint64_t run() {
    const auto snapshot = log::newest_snapshot(files_);
    if (snapshot) write_snapshot(*snapshot);
    log::read_log(
        files_,
        [&](const log::Group& group) {
          for (const log::Record& record : group.records) write_record(record);
        },
        log::range_behind(snapshot));
    writer_->close();
    return rows_;
  }

 private:
  void write_snapshot(const log::SnapshotInfo& snapshot) {
    const stream::LoggedState state = stream::read_state(files_, snapshot).state;
    for (const stream::NameTable::StoredName& name : state.names)
      names_.put(to_number(name.id), name.text);
    for (const ObjectTableState::Record& record : state.processor.objects.records)
      if (is_alive(record.row.generation))
        write({.id = record.id,
               .time_us = record.row.time_us,
               .position = record.row.position,
               .tags = record.row.tags,
               .has_tags = true});
  }

  void write_record(const log::Record& record) {
    if (record.type != stream::record_type::request) return;
    const auto request = std::get<stream::RequestRecord>(stream::decode(record));
    if (const auto* names = std::get_if<stream::NamesChange>(&request.change))
      for (std::size_t i = 0; i < names->ids.size(); ++i)
        names_.put(names->ids[i], names->texts[i]);
    if (const auto* objects = std::get_if<stream::ObjectsChange>(&request.change))
      for (const ObjectUpdate& row : objects->rows) write(row);
  }

  void write(const ObjectUpdate& row) {
    writer_->write({.id = row.id,
                    .time_us = row.time_us,
                    .position = lattice_.to_position(row.position),
                    .tags = row.tags,
                    .has_tags = row.has_tags});
    ++rows_;
  }

  log::Files& files_;
  Lattice lattice_;
  sim::NameTable names_;
  sim::TextOutput output_;
  std::unique_ptr<sim::TraceWriter> writer_;
  std::uint64_t rows_ = 0;
};

}  // namespace

std::uint64_t export_rows(const std::string& folder, const std::string& out) {
  const auto files = log::open_folder(folder, log::FolderUse::read);
  return Export(*files, space_of(*files, folder), out).run();
}

}  // namespace starling::apps
