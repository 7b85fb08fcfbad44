// Readers of the families of files: tables of positions or of trips, arrays of JSON objects, and
// SUMO's floating-car data. The table of layouts is their only caller.
#pragma once

#include "sim/traces/layout.hpp"

namespace starling::sim {

/// By header names, or by column numbers where the file has no header.
void read_csv_records(TextInput& input, const RecordOptions& options, const RecordHandler& handler);

/// A table whose x and y are one column, `[[longitude,latitude],...]`, with a position every 15 s
/// from the record's time on, a whole number of seconds. The column of tags says whether positions
/// are missing (`True`): their times are then unknown, and the record has no position.
void read_trip_records(TextInput& input, const RecordOptions& options,
                       const RecordHandler& handler);

/// One JSON array of objects, held in memory one at a time; the columns are their keys.
void read_json_records(TextInput& input, const RecordOptions& options,
                       const RecordHandler& handler);

/// SUMO's `<fcd-export>`: vehicles, and persons if asked for, with their timestep's time.
void read_sumo_records(TextInput& input, const RecordOptions& options,
                       const RecordHandler& handler);

}  // namespace starling::sim
