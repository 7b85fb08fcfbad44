// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer, on the target's seeds and on the files of the command line.
// The default tests call this program. It can also write the seeds to files, for libFuzzer to begin
// with.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/target.hpp"

namespace {

namespace fs = std::filesystem;

/// Prints the input's name before the run. If the target crashes, the last printed name is the name
/// of the input that crashed it.
void run(const std::string& name, const std::string& input) {
  std::printf("%s\n", name.c_str());
  std::fflush(stdout);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

void run_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  run(path.string(), {std::istreambuf_iterator<char>(file), {}});
}

void run_all(const fs::path& path) {
  if (!fs::is_directory(path)) return run_file(path);
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) run_file(file);
}

void write_seeds(const fs::path& folder) {
  fs::create_directories(folder);
  std::size_t number = 0;
  for (const std::string& seed : starling::fuzz::seeds())
    std::ofstream(folder / ("seed_" + std::to_string(++number)), std::ios::binary) << seed;
}

}  // namespace

// Usage: replay_TARGET [FILE | DIRECTORY]...
// or: replay_TARGET --write-seeds DIRECTORY
int main(int argument_count, char** arguments) {
  if (argument_count == 3 && std::strcmp(arguments[1], "--write-seeds") == 0) {
    write_seeds(arguments[2]);
    return 0;
  }
  std::size_t number = 0;
  for (const std::string& seed : starling::fuzz::seeds())
    run("seed " + std::to_string(++number), seed);
  for (int argument = 1; argument < argument_count; ++argument) run_all(arguments[argument]);
  return 0;
}
