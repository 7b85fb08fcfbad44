// SPDX-License-Identifier: Apache-2.0
// Draws one line again and again in place: see progress_line.hpp.
#include "starling/apps/shared/progress_line.hpp"

#include <cstdio>

#include <unistd.h>

#include "starling/knn/base/plain_text.hpp"

namespace starling::apps {
namespace {

constexpr std::chrono::milliseconds redraw_interval{100};
constexpr std::size_t bar_cells = 30;

/// Prints nothing if `count` is 0.
void warn_of_rows(const char* command, std::uint64_t count, const char* what,
                  const std::string& first) {
  if (count > 0)
    std::fprintf(stderr, "%s: warning: %llu rows %s; the first: %s\n", command,
                 static_cast<unsigned long long>(count), what, plain_text(first).c_str());
}

}  // namespace

ProgressLine::ProgressLine(std::optional<int> lines_to)
    : lines_to_(lines_to),
      on_terminal_(!lines_to && isatty(STDERR_FILENO) == 1),
      due_(std::chrono::steady_clock::now()) {}

void ProgressLine::show(std::string_view what, std::uint64_t done, std::uint64_t total,
                        std::string_view unit) {
  if ((!on_terminal_ && !lines_to_) || std::chrono::steady_clock::now() < due_) return;
  due_ = std::chrono::steady_clock::now() + redraw_interval;
  if (lines_to_) {
    dprintf(*lines_to_, "%.*s %llu %llu\n", static_cast<int>(what.size()), what.data(),
            static_cast<unsigned long long>(done), static_cast<unsigned long long>(total));
    return;
  }
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

const char* skipped_hint(const sim::TraceCounts& counts) {
  return counts.skipped_total() > 0 ? "; --strict stops at the first such row and says where it is"
                                    : "";
}

void print_first_skipped(const char* command, const sim::TraceCounts& counts) {
  for (std::size_t reason = 0; reason < sim::skip_reason_count; ++reason)
    if (!counts.first_skipped[reason].empty())
      std::fprintf(stderr, "%s: the first row %s: %s\n", command,
                   std::string(to_string(static_cast<sim::SkipReason>(reason))).c_str(),
                   plain_text(counts.first_skipped[reason]).c_str());
  warn_of_rows(command, counts.odd_times,
               "are from before 1980 or from more than a year ahead; --time-unit, --from and "
               "--until help",
               counts.first_odd_time);
  warn_of_rows(command, counts.latin1_rows, "have an id that is not UTF-8; it is read as Latin-1",
               counts.first_latin1);
}

std::string describe_left_out(const sim::TraceCounts& counts) {
  std::string text = "rows skipped: " + describe_skipped(counts) + skipped_hint(counts) +
                     "; rows outside --from and --until: " + std::to_string(counts.outside);
  for (const std::string& first : counts.first_skipped)
    if (!first.empty()) text += "; " + first;
  return text;
}

}  // namespace starling::apps
