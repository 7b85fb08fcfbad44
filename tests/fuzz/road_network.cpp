// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of SUMO's road networks. Reads a network, connects its edges, and finds a
// route.
#include "starling/sim/city/roads/road_network.hpp"

#include "starling/sim/city/roads/road_world.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "tests/fuzz/trace_input.hpp"

namespace starling::fuzz {

std::vector<std::string> seeds() {
  return {
      "<?xml version=\"1.0\"?><net version=\"1.9\"><edge id=\":a\" function=\"internal\"><lane/>"
      "</edge><edge id=\"e\" from=\"a\" to=\"b\"><lane index=\"0\" speed=\"13.9\" length=\"100\" "
      "disallow=\"tram\"/></edge><edge id=\"f\" from=\"b\" to=\"a\" shape=\"0,9 5,5,1 0,0\"><lane "
      "speed=\"8\" length=\"11\" allow=\"taxi bus\"/></edge><junction id=\"a\" x=\"0\" y=\"0\"/>"
      "<junction id=\"b\" x=\"0\" y=\"9\"/><connection from=\"e\" to=\"f\"/><connection from=\"f\" "
      "to=\"e\"/></net>",
      "<net><edge id=\"e\" from=\"a\" to=\"a\"><lane speed=\"1\" length=\"1\"/></edge><junction "
      "id=\"a\" x=\"-1e6\" y=\"1\"/></net>",
  };
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling;
  using namespace starling::fuzz;
  const MemoryFile file(text_of(data, size));
  try {
    sim::city::RoadNetwork network = sim::city::read_sumo_network(file.path());
    sim::city::connect_network(network, size % 2 == 0);
    const sim::city::RoadWorld world(std::move(network));
    const sim::city::Place from = world.place_at(world.area().low);
    const sim::city::Place to = world.place_at(world.area().high);
    sim::city::Route route;
    world.find_route(from, to, route);
    std::int64_t time_us = 0;
    world.find_times({&from, 1}, to, {&time_us, 1});
    check_invariant(time_us == route.time_us() && time_us >= 0, "both searches find the same way");
  } catch (const sim::InputError& error) {
    check_invariant(*error.what() != '\0', "an error says something");
  }
  return 0;
}
