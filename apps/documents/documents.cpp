// SPDX-License-Identifier: Apache-2.0
// Writes man pages, completions and the sample configuration: see documents.hpp.
#include "starling/apps/documents/documents.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>

#include "starling/apps/documents/completions.hpp"
#include "starling/apps/documents/flag_tree.hpp"
#include "starling/apps/documents/man_page.hpp"
#include "starling/apps/documents/settings_file.hpp"

namespace starling::apps {
namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw std::filesystem::filesystem_error("write", path, {errno, std::generic_category()});
}

int write_all(const CLI::App& app, const std::filesystem::path& folder) {
  const Command program = flag_tree(app);
  for (const Command* const command : all_commands(program)) {
    write(folder / "man1" / (joined(command->path, "-") + ".1"),
          man_page(*command, program, app.version()));
    if (joined(command->path, " ") == "starling serve")
      write(folder / "starling.toml", settings_file(*command));
  }
  write(folder / "bash" / "starling", bash_completion(program));
  write(folder / "zsh" / "_starling", zsh_completion(program));
  write(folder / "fish" / "starling.fish", fish_completion(program));
  return 0;
}

}  // namespace

std::function<int()> add_documents(CLI::App& program) {
  auto folder = std::make_shared<std::string>();
  CLI::App& command = *program.add_subcommand(
      "documents", "Write the man pages, the completions and a sample configuration file");
  command.group("");  // for the build, not for users
  command.add_option("folder", *folder, "Where to write; it is made if it is not there")
      ->required();
  return [folder, &program] { return write_all(program, *folder); };
}

}  // namespace starling::apps
