// SPDX-License-Identifier: Apache-2.0
// Prints the lines of the summary: see replay_report.hpp.
#include "starling/apps/replay/replay_report.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "starling/apps/shared/progress_line.hpp"
#include "starling/knn/base/percentile.hpp"
#include "starling/sim/data/files/quoted_text.hpp"

namespace starling::apps {
namespace {

void print(const char* label, const std::string& text) {
  std::fprintf(stderr, "%-12s %s\n", label, text.c_str());
}

void warn_of_never_seen(const std::vector<NeverSeen>& never_seen) {
  constexpr std::size_t shown_max = 3;
  const std::size_t shown = std::min(never_seen.size(), shown_max);
  for (std::size_t i = 0; i < shown; ++i)
    std::fprintf(stderr,
                 "replay: warning: query %s follows %s, but the trace has no row of this object\n",
                 sim::quoted_text(never_seen[i].query).c_str(),
                 sim::quoted_text(never_seen[i].object).c_str());
  if (never_seen.size() > shown)
    std::fprintf(stderr, "replay: warning: the same is true of %zu more of the queries\n",
                 never_seen.size() - shown);
}

}  // namespace

void print_summary(const ReplaySummary& summary) {
  std::vector<double> tick_ms = summary.result.tick_ms;
  const double max_ms = tick_ms.empty() ? 0 : *std::ranges::max_element(tick_ms);
  const double p50_ms = percentile(tick_ms, 0.50);
  const double p99_ms = percentile(tick_ms, 0.99);
  const double updates_per_s =
      summary.elapsed_s > 0 ? static_cast<double>(summary.result.rows) / summary.elapsed_s : 0;
  char ticks[128];
  std::snprintf(ticks, sizeof(ticks), "%zu, p50 %.3f ms, p99 %.3f ms, max %.3f ms", tick_ms.size(),
                p50_ms, p99_ms, max_ms);
  char updates[64];
  std::snprintf(updates, sizeof(updates), "%.0f/s, %.2f s in all", updates_per_s,
                summary.elapsed_s);
  print("trace", summary.source);
  print("answered by", summary.answerer);
  print("objects", std::to_string(summary.objects));
  print("rows", std::to_string(summary.result.rows) + " replayed, " +
                    std::to_string(summary.result.late) + " late, " +
                    std::to_string(summary.result.rejected) + " rejected");
  if (summary.counts.outside > 0)
    print("left out", std::to_string(summary.counts.outside) + " rows outside --from and --until");
  print("skipped", describe_skipped(summary.counts) + skipped_hint(summary.counts));
  print("ticks", ticks);
  print("updates", updates);
  if (summary.idle_ticks > 0)
    print("not written", std::to_string(summary.idle_ticks) +
                             " ticks without rows and changes; --every-tick writes them too");
  print_first_skipped("replay", summary.counts);
  constexpr std::uint64_t rows_min = 50;
  if (summary.objects == summary.counts.rows && summary.counts.rows >= rows_min)
    std::fputs(
        "replay: warning: every row has an id of its own; is the column of ids one of row "
        "numbers? --columns id=... names another one\n",
        stderr);
  warn_of_never_seen(summary.never_seen);
}

}  // namespace starling::apps
