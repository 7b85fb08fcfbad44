// SPDX-License-Identifier: Apache-2.0
// Reads standing queries from a CSV file with the header query_id,lat,lon or query_id,x,y[,z] or
// query_id,follow. `starling replay --queries FILE` calls read_query_file().
#pragma once

#include <string>
#include <vector>

#include "starling/knn/words/lattice.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/sim/traces/name_table.hpp"

namespace starling::sim {

/// Returns one query per row: a copy of `common` with the row's id and anchor. Throws InputError at
/// the first row that is not a query in the lattice's space. No row is skipped, because a missing
/// query would be a silent gap in the results.
std::vector<protocol::QuerySpec> read_query_file(const std::string& path,
                                                 const protocol::QuerySpec& common,
                                                 const Lattice& lattice, NameTable& query_names,
                                                 NameTable& object_names);

}  // namespace starling::sim
