// SPDX-License-Identifier: Apache-2.0
// Reads standing queries from a CSV file with the header query_id,lat,lon or query_id,x,y[,z] or
// query_id,follow. Further columns give a query a k and a filter of its own: k, distance_max_m,
// age_max, tags_required, tags_forbidden. `starling replay --queries FILE` calls read_query_file().
#pragma once

#include <string>
#include <vector>

#include "starling/knn/words/lattice.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/sim/data/traces/name_table.hpp"

namespace starling::sim {

/// Returns one query per row: a copy of `common` with the row's id, anchor, k and filter. An empty
/// field of k or the filter keeps the value of `common`. Throws InputError at an unknown column,
/// and at the first row that is not a query in the lattice's space. No row is skipped, because a
/// missing query would be a silent gap in the results.
std::vector<protocol::QuerySpec> read_query_file(const std::string& path,
                                                 const protocol::QuerySpec& common,
                                                 const Lattice& lattice, NameTable& query_names,
                                                 NameTable& object_names);

}  // namespace starling::sim
