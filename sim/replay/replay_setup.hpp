// What a replay asks of whoever answers it, embedded engine or server: one stream and its queries.
#pragma once

#include <string_view>
#include <vector>

#include "knn/words/query.hpp"
#include "protocol/wire/messages.hpp"

namespace starling::sim {

struct ReplaySetup {
  std::string_view stream = "replay";
  ReportOn on = ReportOn::distance;
  std::vector<protocol::QuerySpec> queries;
};

}  // namespace starling::sim
