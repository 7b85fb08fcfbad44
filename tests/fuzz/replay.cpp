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
#include <random>

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

/// Runs inputs of 32 random bytes, for targets that make long inputs of short ones. Prints one
/// number in a thousand, so a crash is in the thousand after the last one printed.
void run_random(std::uint64_t first, std::uint64_t count) {
  constexpr std::uint64_t between_lines = 1000;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    if (seed % between_lines == 0 || count == 1) {
      std::printf("random input %llu\n", static_cast<unsigned long long>(seed));
      std::fflush(stdout);
    }
    std::mt19937_64 random(seed);
    std::string input;
    for (int part = 0; part < 4; ++part) {
      const std::uint64_t bits = random();
      input.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
    }
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  }
}

}  // namespace

// Usage: replay_TARGET [FILE | DIRECTORY]...
// or: replay_TARGET --write-seeds DIRECTORY
// or: replay_TARGET --random FIRST COUNT
int main(int argument_count, char** arguments) {
  if (argument_count == 3 && std::strcmp(arguments[1], "--write-seeds") == 0) {
    write_seeds(arguments[2]);
    return 0;
  }
  if (argument_count == 4 && std::strcmp(arguments[1], "--random") == 0) {
    run_random(std::stoull(arguments[2]), std::stoull(arguments[3]));
    return 0;
  }
  if (argument_count == 4 && std::strcmp(arguments[1], "--random") == 0) {
    run_random(std::stoull(arguments[2]), std::stoull(arguments[3]));
    return 0;
  }
  std::size_t number = 0;
  for (const std::string& seed : starling::fuzz::seeds())
    run("seed " + std::to_string(++number), seed);
  for (int argument = 1; argument < argument_count; ++argument) run_all(arguments[argument]);
  return 0;
}
