// Standing queries from a CSV file with a header: query_id and lat, lon, or x, y, or follow. Read
// by `starling replay --queries FILE`.
#pragma once

#include <string>
#include <vector>

#include "knn/words/lattice.hpp"
#include "protocol/wire/messages.hpp"
#include "sim/traces/name_table.hpp"

namespace starling::sim {

/// Each row as `common` with its id and anchor. Throws TraceError at the first row that is no query
/// of this space: nothing is skipped, for a missing query would be a silent hole in the results.
std::vector<protocol::QuerySpec> read_query_file(const std::string& path,
                                                 const protocol::QuerySpec& common,
                                                 const Lattice& lattice, NameTable& query_names,
                                                 NameTable& object_names);

}  // namespace starling::sim
