// Texts for the words of a trace.
#include "sim/traces/trace.hpp"

#include <numeric>

namespace starling::sim {

std::string_view to_string(SkipReason reason) {
  switch (reason) {
    case SkipReason::missing_field:
      return "missing a field";
    case SkipReason::unparsable:
      return "unparsable";
    case SkipReason::out_of_range:
      return "out of range";
    case SkipReason::null_island:
      return "at 0, 0";
    case SkipReason::too_fast:
      return "too fast";
  }
  return "unknown";
}

std::uint64_t TraceCounts::skipped_total() const {
  return std::accumulate(skipped.begin(), skipped.end(), std::uint64_t{0});
}

TraceError::TraceError(std::string_view file, std::uint64_t line, std::uint64_t column,
                       std::string_view sentence)
    : std::runtime_error(std::string(file) + ":" + std::to_string(line) + ":" +
                         std::to_string(column) + ": " + std::string(sentence)) {}

}  // namespace starling::sim
