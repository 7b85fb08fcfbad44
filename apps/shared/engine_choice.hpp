// --engine, --device and --threads: which Engine a command runs on. The only file that names them
// all.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "knn/engine/engine.hpp"
#include "knn/words/lattice.hpp"

namespace starling::apps {

struct EngineFlags {
  std::string engine = "auto";  ///< auto, cpu or cuda
  int device = 0;               ///< of cuda: its number
  unsigned threads = 0;         ///< of cpu; 0: one per core
};

void add_engine_choice(CLI::App& command, EngineFlags& flags);

struct EngineChoice {
  std::string name;
  std::string why;  ///< a phrase
  std::function<std::unique_ptr<Engine>(const SpaceOptions&)> make;
};

/// What `auto` stands for here, or what was asked for. Throws std::runtime_error with a sentence
/// where that cannot be had.
EngineChoice choose_engine(const EngineFlags& flags);

}  // namespace starling::apps
