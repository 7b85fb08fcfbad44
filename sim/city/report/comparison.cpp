// SPDX-License-Identifier: Apache-2.0
// Reads the summaries and pages of two runs and compares them: see comparison.hpp.
#include "starling/sim/city/report/comparison.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <simdjson.h>

#include "starling/sim/city/report/html_page.hpp"
#include "starling/sim/city/report/summary.hpp"
#include "starling/sim/city/report/svg_plot.hpp"
#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/files/text_input.hpp"

namespace starling::sim::city {
namespace {

constexpr std::size_t gap = 2;  // spaces between two columns

std::string read_text(const std::string& path) {
  TextInput input(path);
  std::string text;
  std::vector<char> buffer(read_bytes);
  while (const std::size_t bytes = input.read(buffer)) text.append(buffer.data(), bytes);
  return text;
}

using Values = std::vector<std::pair<std::string, std::string>>;

/// Returns the number exactly as the file spells it, with trailing zeros.
std::string_view number_text(simdjson::ondemand::value& value) {
  const std::string_view token = value.raw_json_token();  // includes the spaces after the number
  return token.substr(0, token.find_first_of(" \t\r\n"));
}

/// Returns the members of the object `name` in summary.json. Numbers are spelled as in the file.
Values read_values(simdjson::ondemand::document& root, std::string_view name) {
  Values values;
  for (auto field : root[name].get_object()) {
    std::string key(std::string_view(field.unescaped_key()));
    simdjson::ondemand::value value = field.value();
    const bool is_text = value.type() == simdjson::ondemand::json_type::string;
    values.emplace_back(std::move(key),
                        is_text ? std::string_view(value.get_string()) : number_text(value));
  }
  return values;
}

struct RunFiles {
  Values settings;
  Values results;

  explicit RunFiles(const std::string& folder) {
    const std::string path = folder + "/summary.json";
    try {
      simdjson::ondemand::parser parser;
      const simdjson::padded_string text(read_text(path));
      simdjson::ondemand::document root = parser.iterate(text);
      settings = read_values(root, "settings");
      results = read_values(root, "results");
    } catch (const simdjson::simdjson_error& error) {
      throw std::runtime_error(path + " is not a simulation's summary: " + error.what());
    }
  }
};

std::string find_value(const Values& values, const std::string& key) {
  const auto found = std::ranges::find(values, key, &Values::value_type::first);
  return found == values.end() ? std::string() : found->second;
}

int decimals_of(const std::string& text) {
  const std::size_t point = text.find('.');
  return point == std::string::npos ? 0 : static_cast<int>(text.size() - point - 1);
}

std::string change_between(const std::string& left, const std::string& right) {
  const auto from = parse_number(left);
  const auto to = parse_number(right);
  if (!from || !to) return {};
  const double difference = *to - *from;
  std::string text = difference > 0 ? "+" : "";
  text += format_number(difference, std::max(decimals_of(left), decimals_of(right)));
  if (*from == 0) return text;
  const double percent = 100 * difference / *from;
  text += percent > 0 ? " (+" : " (";
  text += format_number(percent, 1);
  return text + " %)";
}

std::vector<ComparedRow> compare_values(const Values& left, const Values& right,
                                        bool only_different) {
  std::vector<ComparedRow> rows;
  const auto add = [&](const std::string& key) {
    if (std::ranges::find(rows, key, &ComparedRow::key) != rows.end()) return;
    ComparedRow row{key, find_value(left, key), find_value(right, key), {}};
    if (only_different && row.left == row.right) return;
    if (!only_different) row.change = change_between(row.left, row.right);
    rows.push_back(std::move(row));
  };
  for (const auto& [key, value] : left) add(key);
  for (const auto& [key, value] : right) add(key);
  return rows;
}

void append_rows(std::string& text, const std::vector<ComparedRow>& rows,
                 const std::array<std::size_t, 3>& widths) {
  for (const ComparedRow& row : rows) {
    text += row.key;
    text.append(widths[0] + gap - row.key.size(), ' ');
    text.append(widths[1] - row.left.size(), ' ');
    text += row.left;
    text.append(gap + widths[2] - row.right.size(), ' ');
    text += row.right;
    if (!row.change.empty()) text += "  " + row.change;
    text += '\n';
  }
}

std::string html_rows(const std::vector<ComparedRow>& rows) {
  std::string html;
  for (const ComparedRow& row : rows) {
    html += "<tr><th scope=\"row\">" + escape_html(row.key) + "</th>";
    for (const std::string* const cell : {&row.left, &row.right, &row.change})
      html += "<td class=\"n\">" + escape_html(*cell) + "</td>";
    html += "</tr>\n";
  }
  return html;
}

std::string plots_of(const std::string& folder) {
  const std::string page = read_text(folder + "/report.html");
  const std::size_t begin = page.find(plots_begin);
  const std::size_t end = page.find(plots_end);
  if (begin == std::string::npos || end == std::string::npos || end < begin)
    throw std::runtime_error(folder + "/report.html is not a simulation's report");
  return page.substr(begin, end - begin);
}

}  // namespace

Comparison compare_runs(const std::string& left, const std::string& right) {
  const RunFiles left_files(left);
  const RunFiles right_files(right);
  return {left, right, compare_values(left_files.settings, right_files.settings, true),
          compare_values(left_files.results, right_files.results, false)};
}

std::string comparison_table(const Comparison& comparison) {
  const ComparedRow head{"", comparison.left, comparison.right, "change"};
  std::array<std::size_t, 3> widths{0, head.left.size(), head.right.size()};
  for (const auto* const rows : {&comparison.settings, &comparison.results})
    for (const ComparedRow& row : *rows)
      widths = {std::max(widths[0], row.key.size()), std::max(widths[1], row.left.size()),
                std::max(widths[2], row.right.size())};
  std::string text;
  append_rows(text, {head}, widths);
  append_rows(text, comparison.settings, widths);
  append_rows(text, comparison.results, widths);
  return text;
}

std::string comparison_page(const Comparison& comparison, const PlotScript& script) {
  PageParts parts{.title = "Starling: two runs", .heading = "Two runs", .above = {}, .plots = {}};
  parts.above =
      "<div class=\"wide\" role=\"region\" aria-label=\"Results of both runs\" "
      "tabindex=\"0\"><table>\n<tr><td></td><th scope=\"col\" class=\"n\">" +
      escape_html(comparison.left) + "</th><th scope=\"col\" class=\"n\">" +
      escape_html(comparison.right) + "</th><th scope=\"col\" class=\"n\">change</th></tr>\n" +
      html_rows(comparison.settings) + html_rows(comparison.results) + "</table></div>\n";
  parts.plots = "<div class=\"sides\">\n";
  for (const std::string* const folder : {&comparison.left, &comparison.right})
    parts.plots += "<section><h2>" + escape_html(*folder) + "</h2>\n<div class=\"plots\">\n" +
                   plots_of(*folder) + "</div></section>\n";
  parts.plots += "</div>\n";
  return html_page(parts, script);
}

}  // namespace starling::sim::city
