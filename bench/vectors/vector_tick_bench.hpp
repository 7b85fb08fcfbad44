// Measures ticks of a vector space on one engine: some of many objects move, standing queries are
// answered anew. Called by `starling bench vector-ticks`.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

#include "starling/knn/engine/engine.hpp"
#include "starling/knn/words/lattice.hpp"

namespace starling::bench {

struct VectorTickOptions {
  std::function<std::unique_ptr<Engine>(const SpaceOptions&)> make_engine;
  std::string engine_name;  ///< for the heading
  std::uint32_t objects = 100'000;
  std::uint32_t dimension = 128;
  Metric metric = Metric::l2;
  double moving = 0.01;  ///< share of the objects that get another vector before each tick
  std::uint32_t queries = 100;
  std::uint32_t k = 10;
  int ticks = 100;
  std::uint64_t seed = 1;
  bool json = false;
};

/// Medians over the measured ticks, but for p99_ms. Drawing vectors is in none of them.
struct VectorTickFigures {
  double stage_ms = 0;    ///< preparing the rows, id to slot, event-time rules, staging
  double tick_ms = 0;     ///< from begin_tick until the report is there
  double copy_in_ms = 0;  ///< these four: see StageTimes
  double build_ms = 0;
  double search_ms = 0;
  double diff_ms = 0;
  double p99_ms = 0;            ///< of tick_ms; below 100 ticks the slowest one's
  double bytes_per_object = 0;  ///< table and engine, with both staging halves
};

/// After each tick one query's list is computed again by the recipe and a sort. Throws
/// std::runtime_error if it is another.
VectorTickFigures run_vector_ticks(const VectorTickOptions& options);

/// What each column and JSON field says, for --help.
std::string vector_tick_figures_help();

/// Runs it and writes a table of one row, or JSON.
void write_vector_ticks(const VectorTickOptions& options, std::ostream& out);

}  // namespace starling::bench
