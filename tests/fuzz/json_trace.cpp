// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of OpenSky's JSON array of records.
#include "tests/fuzz/trace_input.hpp"

namespace starling::fuzz {

std::vector<std::string> seeds() {
  return {
      R"([{"icao24":"3c6444","timestamp":1659312000,"latitude":48.1,"longitude":11.5,)"
      R"("altitude":12000,"callsign":"DLH1 \u00df","onground":false,"x":[1,{"y":null}]},)"
      "\n"
      R"({"timestamp":"2022-08-01T00:00:00Z","icao24":null,"latitude":-1e-3,"longitude":180}])",
      "[]",
      R"([{"icao24":"a","timestamp":1}, 7, [], "text", true])",
  };
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling::fuzz;
  const MemoryFile file(text_of(data, size));
  // The input's length chooses the options, so that each run is short.
  if (size % 2 == 0)
    read_trace(file, {.format = "opensky"});
  else
    read_trace(file, {.format = "opensky", .altitude = true, .strict = true});
  return 0;
}
