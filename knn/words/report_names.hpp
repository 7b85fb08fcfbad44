// SPDX-License-Identifier: Apache-2.0
// The names of ReportOn, as flags, tables and JSON write them.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "starling/knn/words/query.hpp"

namespace starling {

inline constexpr std::array<std::pair<std::string_view, ReportOn>, 3> report_on_names{
    {{"membership", ReportOn::membership},
     {"order", ReportOn::order},
     {"distance", ReportOn::distance}}};

constexpr std::string_view name_of(ReportOn on) {
  for (const auto& [name, each] : report_on_names)
    if (each == on) return name;
  return {};
}

/// Returns std::nullopt if `name` is not one of the names.
constexpr std::optional<ReportOn> report_on_named(std::string_view name) {
  for (const auto& [each, on] : report_on_names)
    if (each == name) return on;
  return std::nullopt;
}

}  // namespace starling
