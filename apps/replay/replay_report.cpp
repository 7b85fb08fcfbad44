// Progress and summary on stderr: see replay_report.hpp.
#include "apps/replay/replay_report.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include <unistd.h>

#include "knn/base/percentile.hpp"

namespace starling::apps {
namespace {

constexpr std::chrono::milliseconds redraw_interval{100};
constexpr std::size_t bar_cells = 30;

void print(const char* label, const std::string& text) {
  std::fprintf(stderr, "%-12s %s\n", label, text.c_str());
}

}  // namespace

ProgressLine::ProgressLine()
    : on_terminal_(isatty(STDERR_FILENO) == 1), due_(std::chrono::steady_clock::now()) {}

void ProgressLine::show(std::string_view what, std::uint64_t done, std::uint64_t total,
                        std::string_view unit) {
  if (!on_terminal_ || std::chrono::steady_clock::now() < due_) return;
  due_ = std::chrono::steady_clock::now() + redraw_interval;
  drawn_ = true;
  std::string bar;
  if (total > 0) {
    const double share = static_cast<double>(done) / static_cast<double>(total);
    const auto full = static_cast<std::size_t>(share * static_cast<double>(bar_cells));
    bar = " [" + std::string(full, '#') + std::string(bar_cells - full, ' ') + "] " +
          std::to_string(static_cast<int>(share * 100)) + " %";
  }
  std::fprintf(stderr, "\r\033[K%.*s %llu %.*s%s", static_cast<int>(what.size()), what.data(),
               static_cast<unsigned long long>(done), static_cast<int>(unit.size()), unit.data(),
               bar.c_str());
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (!drawn_) return;
  drawn_ = false;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

std::string describe_skipped(const sim::TraceCounts& counts) {
  std::string reasons;
  for (std::size_t reason = 0; reason < sim::skip_reason_count; ++reason) {
    if (counts.skipped[reason] == 0) continue;
    reasons += reasons.empty() ? " (" : ", ";
    reasons += std::to_string(counts.skipped[reason]) + " " +
               std::string(to_string(static_cast<sim::SkipReason>(reason)));
  }
  return std::to_string(counts.skipped_total()) + (reasons.empty() ? "" : reasons + ")");
}

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
    print("left out", std::to_string(summary.counts.outside) + " rows outside --from and --to");
  print("skipped", describe_skipped(summary.counts));
  print("ticks", ticks);
  print("updates", updates);
}

}  // namespace starling::apps
