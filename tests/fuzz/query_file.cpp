// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of the file of `starling replay --queries`.
#include "starling/sim/replay/query_file.hpp"

#include <unordered_set>

#include "starling/sim/data/files/errors.hpp"
#include "tests/fuzz/trace_input.hpp"

namespace starling::fuzz {

std::vector<std::string> seeds() {
  return {"query_id,lat,lon\n1,48.5,9.25\nhome,-90,180\n", "query_id,x,y\n1,2.5,-1e5\n",
          "query_id, follow\n\"a, b\",\"tram \"\"7\"\"\"\n2,7\n", "x,y,z,query_id\r\n1,2,3,4\r\n",
          "query_id,x,y,k,distance_max_m,age_max,tags_required,tags_forbidden\n1,2,3,4,5.5,10m,0x7,"
          "8\n"};
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling;
  using namespace starling::fuzz;
  const MemoryFile file(text_of(data, size));
  // The input's length chooses the space, so that each run is short.
  constexpr Space spaces[] = {Space::planar2, Space::planar3, Space::wgs84};
  const Lattice lattice({.space = spaces[size % std::size(spaces)]});
  sim::NameTable query_names;
  sim::NameTable object_names;
  try {
    std::unordered_set<std::uint64_t> ids;
    for (const auto& query :
         sim::read_query_file(file.path(), {}, lattice, query_names, object_names))
      check_invariant(ids.insert(to_number(query.id)).second, "a file holds each query once");
  } catch (const sim::InputError& error) {
    check_invariant(*error.what() != '\0', "an error says something");
  }
  return 0;
}
