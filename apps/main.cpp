// SPDX-License-Identifier: Apache-2.0
// The `starling` program: registers the commands, parses the command line and runs one of them.
// Exit status: 0 done, 1 failed, 2 wrong usage, 130 and 143 stopped by a signal before the end.
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

#include <CLI/CLI.hpp>

#include "starling/apps/ask/ask.hpp"
#include "starling/apps/bench.hpp"
#include "starling/apps/convert.hpp"
#include "starling/apps/documents/documents.hpp"
#include "starling/apps/info.hpp"
#include "starling/apps/journal/journal_command.hpp"
#include "starling/apps/keygen.hpp"
#include "starling/apps/knn/knn.hpp"
#include "starling/apps/put/put.hpp"
#include "starling/apps/remove/remove.hpp"
#include "starling/apps/replay/replay.hpp"
#include "starling/apps/serve.hpp"
#include "starling/apps/shared/config_file.hpp"
#include "starling/apps/shared/process/standard_streams.hpp"
#include "starling/apps/shared/process/stop_signals.hpp"
#include "starling/apps/shared/strict_numbers.hpp"
#include "starling/apps/shared/unknown_word.hpp"
#include "starling/apps/simulate/simulate.hpp"
#include "starling/apps/streams/streams.hpp"
#include "starling/apps/subscribe/subscribe.hpp"
#include "starling/apps/top/top.hpp"
#include "starling/apps/view/view.hpp"
#include "starling/knn/base/plain_text.hpp"
#include "starling/stream/sockets/file_limit.hpp"

namespace {

std::function<int()> add_bench(CLI::App& program) {
#ifdef STARLING_BENCH
  return starling::apps::add_bench(program);
#else
  program.add_subcommand("bench", "Measure the canonical workloads (not part of this build)")
      ->prefix_command();  // accepts any further words
  return []() -> int {
    throw std::runtime_error(
        "this program was built without its benchmarks; to build them, run `cmake --preset release "
        "-DSTARLING_BENCH=ON && cmake --build --preset release`");
  };
#endif
}

int run(int argument_count, char** arguments) {
  CLI::App program("Finds the exact k nearest neighbours of moving objects and of vectors.",
                   "starling");
  program.set_version_flag("--version", "starling " STARLING_VERSION);
  program.require_subcommand(1);
  const std::map<std::string, std::function<int()>> commands{
      {"ask", starling::apps::add_ask(program)},
      {"bench", add_bench(program)},
      {"convert", starling::apps::add_convert(program)},
      {"documents", starling::apps::add_documents(program)},
      {"info", starling::apps::add_info(program)},
      {"journal", starling::apps::add_journal(program)},
      {"keygen", starling::apps::add_keygen(program)},
      {"knn", starling::apps::add_knn(program)},
      {"put", starling::apps::add_put(program)},
      {"remove", starling::apps::add_remove(program)},
      {"replay", starling::apps::add_replay(program)},
      {"serve", starling::apps::add_serve(program)},
      {"simulate", starling::apps::add_simulate(program)},
      {"streams", starling::apps::add_streams(program)},
      {"subscribe", starling::apps::add_subscribe(program)},
      {"top", starling::apps::add_top(program)},
      {"view", starling::apps::add_view(program)},
  };
  starling::apps::add_config_file(program);
  starling::apps::make_numbers_strict(program);
  program.footer(
      "`starling COMMAND --help` shows the flags of a command. A flag of every command but bench\n"
      "can also be set by an environment variable, STARLING_COMMAND_FLAG\n"
      "(STARLING_SERVE_TICK=manual), or in the file of --config, under [COMMAND]. The command\n"
      "line overrides the environment, and the environment overrides the file. Behind a second\n"
      "word, as in `put stream`, only --connect, --timeout, --key, --server-key and --json may\n"
      "come from there. STARLING_KEY is the key file of all commands that connect to a server.\n"
      "Pages such as docs/limits.md are below share/doc/starling of the installation (Debian:\n"
      "/usr/share/doc/starling).");
  try {
    program.parse(argument_count, arguments);
    starling::apps::check_environment(program);
    return commands.at(program.get_subcommands().front()->get_name())();
  } catch (const CLI::ParseError& error) {
    const bool is_failure = error.get_exit_code() != 0;
    const std::string unknown = is_failure ? starling::apps::describe_unknown_word(program) : "";
    if (unknown.empty()) {
      std::ostringstream sentence;
      const int status = program.exit(error, std::cout, sentence);
      std::cerr << starling::plain_text(sentence.str(), starling::LineBreaks::kept);
      return status == 0 ? 0 : 2;
    }
    std::cerr << unknown << '\n';
    return 2;
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  try {
    starling::apps::open_standard_streams();
    starling::apps::report_file_size_limit();
    starling::stream::raise_file_limit();
    const int status = run(argument_count, arguments);
    if (status == 0) starling::apps::flush_standard_output();
    return status;
  } catch (const starling::apps::StoppedError& error) {
    std::cerr << "starling: " << starling::plain_text(error.what()) << '\n';
    return error.exit_status;
  } catch (const std::filesystem::filesystem_error& error) {
    std::cerr << "starling: " << starling::plain_text(error.path1().string())
              << " cannot be opened: " << error.code().message() << '\n';
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "starling: " << starling::plain_text(error.what()) << '\n';
    return 1;
  }
}
