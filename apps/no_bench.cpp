// SPDX-License-Identifier: Apache-2.0
// `starling bench` in a program that was built without its benchmarks (STARLING_BENCH=OFF): says
// how to build them. scripts/demo builds such a program.
#include <functional>
#include <stdexcept>

#include <CLI/CLI.hpp>

#include "starling/apps/bench.hpp"

namespace starling::apps {

std::function<int()> add_bench(CLI::App& program) {
  program.add_subcommand("bench", "Measure the canonical workloads (not part of this build)")
      ->prefix_command();  // takes whatever follows
  return []() -> int {
    throw std::runtime_error(
        "this program was built without its benchmarks; to build them, run `cmake --preset release "
        "-DSTARLING_BENCH=ON && cmake --build --preset release`");
  };
}

}  // namespace starling::apps
