// The workloads of `starling bench server`, a function each: see the table in server_bench.cpp for
// what they measure. Each starts a server of its own.
#pragma once

#include "starling/bench/server/server_bench.hpp"

namespace starling::bench {

void run_updates(const ServerBenchOptions& options, const FiguresHandler& handler);
void run_updates_wgs84(const ServerBenchOptions& options, const FiguresHandler& handler);
void run_tick(const ServerBenchOptions& options, const FiguresHandler& handler);
void run_standing(const ServerBenchOptions& options, const FiguresHandler& handler);
void run_questions(const ServerBenchOptions& options, const FiguresHandler& handler);
void run_subscribers(const ServerBenchOptions& options, const FiguresHandler& handler);
void run_vectors(const ServerBenchOptions& options, const FiguresHandler& handler);
void run_million(const ServerBenchOptions& options, const FiguresHandler& handler);
void run_soak(const ServerBenchOptions& options, const FiguresHandler& handler);

}  // namespace starling::bench
