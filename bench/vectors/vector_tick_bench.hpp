// SPDX-License-Identifier: Apache-2.0
// `starling bench vector-ticks`: measures ticks of a vector space on one engine. In each tick, some
// of the objects get a new vector, and all standing queries are answered again. Called by
// apps/bench.cpp.
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
  std::string engine_name;  ///< the name that the heading shows
  std::uint32_t objects = 100'000;
  std::uint32_t dimension = 128;
  Metric metric = Metric::l2;
  double moving = 0.01;  ///< share of the objects that get a new vector before each tick
  std::uint32_t queries = 100;
  std::uint32_t k = 10;
  int ticks = 100;
  std::uint64_t seed = 1;
  bool json = false;
};

/// Medians over the measured ticks, except p99_ms and bytes_per_object. No time includes the making
/// of random vectors.
struct VectorTickFigures {
  double stage_ms = 0;    ///< preparing rows, mapping ids to slots, event-time rules, staging
  double tick_ms = 0;     ///< time between begin_tick and the complete report
  double copy_in_ms = 0;  ///< see StageTimes for this and the next three
  double build_ms = 0;
  double search_ms = 0;
  double diff_ms = 0;
  double p99_ms = 0;  ///< 99th percentile of tick_ms; with fewer than 100 ticks, the slowest
  double bytes_per_object = 0;  ///< memory of object table, engine and both staging halves
};

/// After each tick, compares one query's list with the exact list from knn_check.hpp. Throws
/// std::runtime_error if the two differ.
VectorTickFigures run_vector_ticks(const VectorTickOptions& options);

/// Returns the meaning of each column and JSON field, for --help.
std::string vector_tick_figures_help();

/// Runs the benchmark and writes a table of one row, or JSON.
void write_vector_ticks(const VectorTickOptions& options, std::ostream& out);

}  // namespace starling::bench
