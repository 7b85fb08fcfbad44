// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of CSV traces. Columns are given by name, given by number, or recognised from
// the header. The input's length chooses one of these ways, so that each run is short.
#include "tests/fuzz/trace_input.hpp"

namespace starling::fuzz {

std::vector<std::string> seeds() {
  return {
      "id,t,lat,lon,alt,tags\n7,2024-01-02T03:04:05Z,48.5,9.25,300,1\n\"tram \"\"7\"\"\",1e9,-90,"
      "180,,0x2\r\n",
      "7,1700000000,1.5,-2.5\n\n8,1700000000000,1e5,.5,3,4\n",
      "MMSI,BaseDateTime,LAT,LON,SOG\n367000001,2023-06-01T00:00:07,29.95,-90.06,0.1\n"
      "367000001,2023-06-01T00:00:09,0,0,0.1\n",
      "\xEF\xBB\xBFid,time_us,lon,lat,alt,tags\n1,1,179.9,89,1,3\n",
  };
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling;
  using namespace starling::fuzz;
  const MemoryFile file(text_of(data, size));
  const sim::TraceOptions readings[] = {
      {},
      {.format = "csv", .columns = "id=id,time=t,lat=lat,lon=lon,alt=alt,tags=tags"},
      {.format = "csv", .columns = "id=1,time=2,x=3,y=4,z=5,tags=6", .strict = true},
      {.format = "csv", .columns = "id=1,time=2,x=3,y=4,z=5", .space = Space::planar3},
  };
  read_trace(file, readings[size % std::size(readings)]);
  return 0;
}
