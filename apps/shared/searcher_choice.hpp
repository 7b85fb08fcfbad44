// --engine, --devices, --threads and --method of commands over vectors: which VectorSearcher they
// run on. The only file that names them all.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "knn/vectors/searcher.hpp"

namespace starling::apps {

struct SearcherFlags {
  std::string engine = "auto";  ///< auto, cpu or cuda
  std::vector<int> devices;     ///< of cuda: their numbers; none: the first there is
  unsigned threads = 0;         ///< of cpu; 0: one per core
  std::string method = "auto";
};

/// --engine, --devices and --threads.
void add_searcher_engine(CLI::App& command, SearcherFlags& flags);
/// Those and --method.
void add_searcher_choice(CLI::App& command, SearcherFlags& flags);

struct SearcherChoice {
  std::unique_ptr<VectorSearcher> searcher;
  std::string why;  ///< a phrase
  SearchMethod method = SearchMethod::automatic;
};

/// Throws std::runtime_error with a sentence where the engine cannot be had or lacks the method,
/// and sim::UsageError where devices are named twice.
SearcherChoice choose_searcher(const SearcherFlags& flags);

/// How several GPUs merge lists here, a phrase.
std::string describe_exchange();

}  // namespace starling::apps
