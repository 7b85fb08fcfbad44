// SPDX-License-Identifier: Apache-2.0
// One function for each workload of `starling bench server`. The table in server_bench.cpp says
// what each workload measures. Each function starts its own server.
#pragma once

#include "starling/bench/server/server_bench.hpp"

namespace starling::bench {

void run_updates(const ServerBenchOptions& options, const FiguresHandler& handler);
void run_updates_wgs84(const ServerBenchOptions& options, const FiguresHandler& handler);
void run_tick(const ServerBenchOptions& options, const FiguresHandler& handler);
void run_standing(const ServerBenchOptions& options, const FiguresHandler& handler);
void run_questions(const ServerBenchOptions& options, const FiguresHandler& handler);
void run_subscribers(const ServerBenchOptions& options, const FiguresHandler& handler);
void run_fan_out(const ServerBenchOptions& options, const FiguresHandler& handler);
void run_vectors(const ServerBenchOptions& options, const FiguresHandler& handler);
void run_million(const ServerBenchOptions& options, const FiguresHandler& handler);
void run_views(const ServerBenchOptions& options, const FiguresHandler& handler);
void run_soak(const ServerBenchOptions& options, const FiguresHandler& handler);

}  // namespace starling::bench
