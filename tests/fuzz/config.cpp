// SPDX-License-Identifier: Apache-2.0
// Fuzzes the configuration file of `starling serve --config`.
#include <CLI/CLI.hpp>

#include "starling/apps/serve.hpp"
#include "starling/apps/shared/config_file.hpp"
#include "tests/fuzz/trace_input.hpp"

namespace starling::fuzz {

std::vector<std::string> seeds() {
  return {
      "# a comment\n[serve]\nspace = \"planar3\"\nresolution = 0.5\ntick = \"manual\"\n"
      "origin = [1.0, 2.0, 3.0]\nhttp = \"127.0.0.1:0\"\n",
      "serve.tick = \"100ms\"\nserve.credit-bytes = \"1 GiB\"\nserve.k-max = 7\n",
      "[serve]\nlog-level='off'\nlinger=\"1d\"\nfuture-max = \"9223372036854775807us\"\n"
      "unknown = {a = [[1], 2]}\ndecode-threads = 0x10\n",
      "[serve]\nspace = \"vector:128\"\nmetric = \"inner-product\"\n",
  };
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling;
  using namespace starling::fuzz;
  const MemoryFile file(text_of(data, size));
  CLI::App program("", "starling");
  program.require_subcommand(1);
  const auto run = apps::add_serve(program);  // holds the variables of the flags; never called
  apps::add_config_file(program);
  try {
    program.parse("serve --config " + file.path());
  } catch (const CLI::ParseError& error) {
    check_invariant(error.get_exit_code() != 0 || dynamic_cast<const CLI::Success*>(&error),
                    "a refusal has a status");
  }
  return 0;
}
