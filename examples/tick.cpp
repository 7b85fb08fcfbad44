// SPDX-License-Identifier: Apache-2.0
// Taxi 12 of three taxis moves between two ticks. Each tick prints the lists that it changed.
#include <iostream>

#include <starling/starling.hpp>

int main() {
  starling::Engine engine(starling::Space::wgs84);
  engine.put_stream("riders");
  engine.put_query("riders", {.id = 1, .k = 2, .at = {10.753, 59.907}});
  engine.update(11, {10.75, 59.91});
  engine.update(12, {10.76, 59.92});
  engine.update(13, {10.74, 59.90});
  for (const double longitude : {10.753, 10.754}) {
    for (const auto& list : engine.tick()) {
      std::cout << "rider " << list.query << ':';
      for (const auto [taxi, metres] : list)
        std::cout << "  taxi " << taxi << " in " << metres << " m";
      std::cout << '\n';
    }
    engine.update(12, {longitude, 59.907});
  }
}
