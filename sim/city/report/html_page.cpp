// SPDX-License-Identifier: Apache-2.0
// Puts style, plots and script into a page: see html_page.hpp.
#include "starling/sim/city/report/html_page.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "starling/sim/city/report/plot_json.hpp"
#include "starling/sim/city/report/svg_plot.hpp"

namespace starling::sim::city {
namespace {

constexpr const char* page_style =
    "body{font:15px/1.5 system-ui,sans-serif;color:#222;background:#fff;max-width:1180px;"
    "margin:2em auto;padding:0 "
    "1em}header{margin-bottom:1em}h1{font-size:1.5em;margin:0}h2{font-size:1.15em;margin-top:2em}"
    "table{border-collapse:collapse}th,td{padding:.15em 1.2em .15em 0;text-align:left;"
    "font-weight:400;border-bottom:1px solid #ddd}td{overflow-wrap:anywhere}"
    ".n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}.columns{display:"
    "flex;flex-wrap:wrap;"
    "gap:0 2.5em}.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(420px,100%),"
    "1fr));gap:1em}.plots>svg{width:100%;height:auto}.plots>svg text{font-size:11px;fill:#444}"
    ".plots>svg .title{font-size:13px;font-weight:600;fill:#222}.plots>svg .end{text-anchor:end}"
    ".plots>svg .middle{text-anchor:middle}.plots>svg .grid{stroke:#ddd;fill:none}"
    ".plots>svg .line{fill:none;stroke-width:1.5}.plots>svg .bar{fill:#1f6fb4}"
    ".plots>svg .frame{fill:none;stroke:#bbb}.plots>svg .unmet{fill:#c0392b}"
    ".wide{overflow-x:auto}.sides{display:grid;gap:2em;"
    "grid-template-columns:repeat(auto-fit,minmax(min(420px,100%),1fr))}";

// The browser blocks every request of the page, even if the script was modified.
constexpr const char* content_security_policy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'";

constexpr const char* how_to_use =
    "<p id=\"how\" hidden>Drag over a plot to zoom, and double-click to see all of it again. Point "
    "at a plot to read its values. With the keyboard: Tab goes to a plot, the arrow keys read "
    "values, + and - zoom, and 0 shows all.</p>\n";
constexpr const char* how_to_get =
    "<p>These plots are drawings. To zoom and to read values, build Starling with Node.js 18 or "
    "later and npm, and simulate again: docs/simulate.md says how.</p>\n";

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return text;
}

/// Inserts a backslash after the first byte of each `ending`; letter case does not count. In a
/// string of JavaScript or CSS, "<\/script" means "</script", but does not end the <script>
/// element.
void escape_ending(std::string& text, std::string_view ending) {
  const auto equal_in_any_case = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  };
  for (auto at = text.begin();; ++at) {
    at = std::search(at, text.end(), ending.begin(), ending.end(), equal_in_any_case);
    if (at == text.end()) return;
    at = text.insert(at + 1, '\\');
  }
}

}  // namespace

PlotScript read_plot_script(const std::string& folder) {
  const std::filesystem::path script = std::filesystem::path(folder) / "report.js";
  const std::filesystem::path style = std::filesystem::path(folder) / "report.css";
  std::error_code error;
  if (folder.empty() || !std::filesystem::is_regular_file(script, error) ||
      !std::filesystem::is_regular_file(style, error))
    return {};
  return {read_text(script), read_text(style)};
}

std::string plots_html(std::span<const Plot> plots) {
  std::string html(plots_begin);
  html += '\n';
  for (const Plot& plot : plots) html += draw_plot(plot);
  return html + "<script type=\"application/json\">" + plots_json(plots) + "</script>\n" +
         std::string(plots_end) + '\n';
}

std::string html_page(const PageParts& parts, const PlotScript& script) {
  const bool has_script = !script.script.empty();
  std::string style = script.style;
  escape_ending(style, "</style");
  std::string code = script.script;
  escape_ending(code, "</script");
  escape_ending(code, "<!--");
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n";
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  html += std::string("<meta http-equiv=\"Content-Security-Policy\" content=\"") +
          content_security_policy + "\">\n";
  html += "<title>" + parts.title + "</title>\n<style>" + page_style + "</style>\n";
  if (has_script) html += "<style>" + style + "</style>\n";
  html += "</head><body>\n<header><h1>" + parts.heading + "</h1></header>\n<main>\n" + parts.above +
          "<h2>Plots</h2>\n" + (has_script ? how_to_use : how_to_get) + parts.plots + "</main>\n";
  if (has_script) html += "<script>" + code + "</script>\n";
  return html + "</body></html>\n";
}

}  // namespace starling::sim::city
