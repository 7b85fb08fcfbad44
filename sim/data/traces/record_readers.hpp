// SPDX-License-Identifier: Apache-2.0
// The record readers: CSV tables of positions or trips, JSON objects, GeoJSON features, GPX tracks,
// and SUMO's floating-car data. Only the table of layouts (layout.cpp) uses these readers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "starling/sim/data/traces/layout.hpp"

namespace starling::sim {

/// Reads a CSV table with one position per record. Columns are found by name or by number.
void read_csv_records(TextInput& input, const RecordOptions& options, const RecordHandler& handler);

/// Reads a CSV table with one trip per record. One column holds all positions of the trip as
/// `[[longitude,latitude],...]`. The first position was taken at the record's time, a whole number
/// of seconds. The others follow every 15 s. `True` in the column of tags says that positions are
/// missing. The positions' times are then unknown, so the handler gets one row without a position.
void read_trip_records(TextInput& input, const RecordOptions& options,
                       const RecordHandler& handler);

/// Returns the keys of the first object of a JSON array, or of JSON lines. Returns no keys if
/// `text` is neither.
std::vector<std::string> keys_of_first_record(std::string_view text);

/// Reads one JSON array of objects, or JSON lines, with one object in memory at a time. The columns
/// are the objects' keys.
void read_json_records(TextInput& input, const RecordOptions& options,
                       const RecordHandler& handler);

/// Reads the points of a GeoJSON FeatureCollection, with one feature in memory at a time. The id,
/// the time and the tags come from properties with names in common use. Without a property for the
/// id, the feature's own id is taken.
void read_geojson_records(TextInput& input, const RecordOptions& options,
                          const RecordHandler& handler);

/// Reads the track points of a GPX file. The id of a point is the name of its track or, without
/// one, the name of the file.
void read_gpx_records(TextInput& input, const RecordOptions& options, const RecordHandler& handler);

/// Reads the vehicles of SUMO's `<fcd-export>` and, if options.persons is set, the persons. Each
/// row has the time of its timestep.
void read_sumo_records(TextInput& input, const RecordOptions& options,
                       const RecordHandler& handler);

}  // namespace starling::sim
