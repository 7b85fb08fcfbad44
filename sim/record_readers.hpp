// Readers of the three families of files: tables with commas, arrays of JSON objects, and SUMO's
// floating-car data. The table of layouts is their only caller.
#pragma once

#include "sim/layout.hpp"

namespace starling::sim {

/// By header names, or by column numbers where the file has no header.
void read_csv_records(TextInput& input, const RecordOptions& options, const RecordHandler& handler);

/// One JSON array of objects; the columns are its keys. The file is held in memory whole.
void read_json_records(TextInput& input, const RecordOptions& options,
                       const RecordHandler& handler);

/// SUMO's `<fcd-export>`: vehicles, and persons if asked for, with their timestep's time.
void read_sumo_records(TextInput& input, const RecordOptions& options,
                       const RecordHandler& handler);

}  // namespace starling::sim
