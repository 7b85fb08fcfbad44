// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of the file of `starling simulate --requests`.
#include "starling/sim/city/request_file.hpp"

#include "starling/sim/data/files/errors.hpp"
#include "tests/fuzz/trace_input.hpp"

namespace starling::fuzz {

std::vector<std::string> seeds() {
  return {
      "m,h,2013-01-01 00:05:00,2013-01-01 00:09:00,1,0.4,-73.95,40.71,-73.96,40.72,C,3,0,0,0,0,4"
      "\nm,h,2013-01-01 00:06:00,2013-01-01 00:09:00,1,0.4,0,0,-73.96,40.72,C,3,0,0,0,0,4\n",
      "time,pick_lon,pick_lat,drop_lon,drop_lat\n1,1,2,1.001,2\n2,1,2,1,2\n",
      "time_us,pick_x,pick_y,drop_x,drop_y\n-5,1,2,3,4\n9e9,1e9,2,3,4\n"};
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling;
  using namespace starling::fuzz;
  const MemoryFile file(text_of(data, size));
  try {
    const sim::city::Demand demand = sim::city::read_request_file({.path = file.path()});
    std::int64_t time_us = demand.start_us;
    for (const sim::city::Request& request : demand.requests) {
      check_invariant(request.time_us >= time_us && request.time_us < demand.end_us,
                      "requests are in order of time");
      check_invariant(demand.area.contains(request.pickup), "the area holds every request");
      time_us = request.time_us;
    }
  } catch (const sim::InputError& error) {
    check_invariant(*error.what() != '\0', "an error says something");
  }
  return 0;
}
