// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of SUMO's floating-car data.
#include "tests/fuzz/trace_input.hpp"

namespace starling::fuzz {

std::vector<std::string> seeds() {
  return {
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- made by hand -->\n"
      "<fcd-export xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\n"
      "  <timestep time=\"0.00\">\n    <vehicle id=\"veh &lt;0&gt;\" x=\"1.5\" y=\"-2\" z=\"3\" "
      "angle=\"90\" type=\"car\"/>\n    <person id=\"p0\" x=\"1\" y=\"2\"/>\n  </timestep>\n"
      "  <timestep time=\"1e3\"/>\n</fcd-export>\n",
      "<!DOCTYPE a [<!ENTITY b \"1\"><!ENTITY c \"&b;&b;\">]><fcd-export><timestep time=\"&c;\">"
      "<vehicle id='1' x='&b;' y='0'/></timestep></fcd-export>",
  };
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling;
  using namespace starling::fuzz;
  const MemoryFile file(text_of(data, size));
  // The input's length chooses the options, so that each run is short.
  if (size % 2 == 0)
    read_trace(file, {.format = "sumo", .persons = true});
  else
    read_trace(file, {.format = "sumo", .space = Space::wgs84, .strict = true});
  return 0;
}
