// SPDX-License-Identifier: Apache-2.0
// Lays out an answer as a table or as JSON: see answer_text.hpp.
#include "starling/apps/ask/answer_text.hpp"

#include <charconv>

#include "starling/apps/shared/text/text_table.hpp"
#include "starling/apps/shared/text/time_line.hpp"
#include "starling/knn/base/json_text.hpp"
#include "starling/sim/data/files/text_append.hpp"

namespace starling::apps {
namespace {

std::string distance_text(double distance, bool is_vector) {
  std::string text;
  if (is_vector)
    sim::append_number(text, distance);
  else
    sim::append_number(text, distance, std::chars_format::fixed, 3);
  return text;
}

}  // namespace

std::string answer_table(const Answer& answer, const sim::NameTable& names) {
  std::string text =
      "tick " + std::to_string(to_number(answer.tick)) + "  " + format_time(answer.tau_us) + "\n";
  using Align = TextTable::Align;
  TextTable table({{"rank", Align::right},
                   {"object", Align::left},
                   {answer.is_vector ? "distance" : "metres", Align::right}});
  for (std::size_t at = 0; at < answer.list.neighbors.size(); ++at) {
    const protocol::HeldNeighbor& neighbor = answer.list.neighbors[at];
    sim::NameTable::NumberText number;
    table.add_row({std::to_string(at + 1),
                   std::string(names.text_of(to_number(neighbor.object), number)),
                   distance_text(neighbor.distance_m, answer.is_vector)});
  }
  return text + table.str();
}

std::string answer_json(const Answer& answer, const sim::NameTable& names) {
  JsonText json;
  json.begin_object().number("tick", to_number(answer.tick)).number("time_us", answer.tau_us);
  json.key("neighbors").begin_array();
  for (const protocol::HeldNeighbor& neighbor : answer.list.neighbors) {
    const std::uint64_t id = to_number(neighbor.object);
    json.begin_object().text("id", std::to_string(id)).number("distance_m", neighbor.distance_m);
    if (const auto name = names.texts().find(id); name != names.texts().end())
      json.text("name", name->second);
    json.end_object();
  }
  return json.end_array().end_object().take();
}

}  // namespace starling::apps
