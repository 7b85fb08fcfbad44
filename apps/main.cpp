// The `starling` program: wires its subcommands. Exit status 0 done, 1 failed, 2 wrong usage.
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include <CLI/CLI.hpp>

#include "apps/bench.hpp"
#include "apps/convert.hpp"
#include "apps/info.hpp"
#include "apps/knn/knn.hpp"
#include "apps/replay/replay.hpp"
#include "apps/serve.hpp"
#include "apps/shared/config_file.hpp"
#include "apps/shared/standard_streams.hpp"
#include "apps/shared/strict_numbers.hpp"
#include "apps/simulate/simulate.hpp"
#include "apps/subscribe/subscribe.hpp"

namespace {

int run(int argument_count, char** arguments) {
  CLI::App program("Exact k nearest neighbours of moving objects, tick by tick.", "starling");
  program.set_version_flag("--version", "starling " STARLING_VERSION);
  program.require_subcommand(1);
  const std::map<std::string, std::function<int()>> commands{
      {"bench", starling::apps::add_bench(program)},
      {"convert", starling::apps::add_convert(program)},
      {"info", starling::apps::add_info(program)},
      {"knn", starling::apps::add_knn(program)},
      {"replay", starling::apps::add_replay(program)},
      {"serve", starling::apps::add_serve(program)},
      {"simulate", starling::apps::add_simulate(program)},
      {"subscribe", starling::apps::add_subscribe(program)},
  };
  starling::apps::add_config_file(program);
  starling::apps::make_numbers_strict(program);
  program.footer(
      "Flags may stand in the environment, as STARLING_COMMAND_FLAG (STARLING_SERVE_TICK=manual),\n"
      "or in the file of --config, under [COMMAND]: flags over environment over file.");
  try {
    program.parse(argument_count, arguments);
    return commands.at(program.get_subcommands().front()->get_name())();
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : 2;
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  try {
    starling::apps::open_standard_streams();
    starling::apps::report_file_size_limit();
    const int status = run(argument_count, arguments);
    if (status == 0) starling::apps::flush_standard_output();
    return status;
  } catch (const std::filesystem::filesystem_error& error) {
    std::cerr << "starling: " << error.path1().string()
              << " cannot be opened: " << error.code().message() << '\n';
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "starling: " << error.what() << '\n';
    return 1;
  }
}
