// SPDX-License-Identifier: Apache-2.0
// Runs a hostile server for tests in other languages: hostile_server NAME. Prints the endpoints of
// commands and results in one line, and ends with its input. Without NAME, prints all names.
#include <iostream>
#include <string>

#include "tests/hostile/misbehaviours.hpp"

int main(int count, char** arguments) {
  using namespace starling::protocol::test;
  if (count < 2) {
    for (const Misbehaviour& each : misbehaviours()) std::cout << each.name << '\n';
    return 0;
  }
  const HostileServer server(misbehaviour_named(arguments[1]));
  std::cout << server.commands() << ' ' << server.results() << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) continue;
  return 0;
}
