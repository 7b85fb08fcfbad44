// SPDX-License-Identifier: Apache-2.0
// Tests the pages of a run. Their script and data are in the same file, escaped. Without the script
// the plots stay drawings.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include "starling/sim/city/report/comparison.hpp"
#include "starling/sim/city/report/html_page.hpp"
#include "starling/sim/city/report/plot_json.hpp"
#include "starling/sim/city/report/svg_plot.hpp"
#include "tests/sim/city/city_fixture.hpp"

namespace starling::sim::city {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* hostile = "</script><script>alert(\"1\")</script><!--";

LinePlot lines() {
  return {.title = "Waits",
          .x_title = "minutes",
          .y_title = "seconds",
          .x_unit = "min",
          .y_unit = "s",
          .bucket = 2,
          .series = {{"wait", {{1, 0.1}, {3, 1.0 / 3}}}}};
}

MapPlot map() {
  return {.title = "Map",
          .note = "a note",
          .columns = 2,
          .rows = 1,
          .area = {{-10, 20}, {10, 30}},
          .cell_m = 10,
          .cells = {0, 7}};
}

std::string page_with(const PlotScript& script) {
  const std::vector<Plot> plots{lines(), map()};
  return html_page({.title = "t",
                    .heading = "h",
                    .above = "<p>above</p>\n",
                    .plots = "<div class=\"plots\">" + plots_html(plots) + "</div>\n"},
                   script);
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Report, DataOfPlotsReadBackAsTheSameNumbers) {
  const std::vector<Plot> plots{lines(),
                                BarPlot{.title = "Bars",
                                        .x_title = "x",
                                        .y_title = "y",
                                        .x_unit = "s",
                                        .y_unit = "rides",
                                        .bar_width = 2.5,
                                        .heights = {3, 0, 4}},
                                map()};
  simdjson::dom::parser parser;
  const simdjson::dom::array read = parser.parse(plots_json(plots)).get_array();
  const auto at = [&](const char* pointer) { return read.at_pointer(pointer); };
  EXPECT_EQ(std::string_view(at("/0/kind")), "lines");
  EXPECT_EQ(double(at("/0/bucket")), 2);
  EXPECT_EQ(double(at("/0/series/0/points/1/0")), 3);
  EXPECT_EQ(double(at("/0/series/0/points/1/1")), 1.0 / 3);
  EXPECT_EQ(std::string_view(at("/1/y_unit")), "rides");
  EXPECT_EQ(double(at("/1/heights/2")), 4);
  EXPECT_EQ(double(at("/2/low/0")), -10);
  EXPECT_EQ(double(at("/2/cells/1")), 7);
}

TEST(Report, ANumberThatIsNotFiniteIsNull) {
  LinePlot plot = lines();
  plot.series[0].points[0].y_m = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(plots_json(std::vector<Plot>{plot}), HasSubstr("[[1,null],"));
}

TEST(Report, NoTextOfTheDataCanEndItsElement) {
  LinePlot plot = lines();
  plot.title = hostile;
  const std::vector<Plot> plots{plot};
  const std::string json = plots_json(plots);
  EXPECT_THAT(json, Not(HasSubstr("<")));
  simdjson::dom::parser parser;
  EXPECT_EQ(std::string_view(parser.parse(json).at_pointer("/0/title")), hostile);
  const std::string html = plots_html(plots);
  EXPECT_EQ(count(html, "<script"), 1u);
  EXPECT_EQ(count(html, "</script"), 1u);
}

TEST(Report, NoStringOfTheScriptCanEndItsElement) {
  const std::string page = page_with(
      {.script = "f('</script>','</SCRIPT>','<!--')", .style = "a::after{content:'</style>'}"});
  EXPECT_THAT(page, HasSubstr(R"(f('<\/script>','<\/SCRIPT>','<\!--'))"));
  EXPECT_THAT(page, HasSubstr(R"(content:'<\/style>')"));
  EXPECT_EQ(count(page, "</script>"), 2u) << "the data and the script";
  EXPECT_EQ(count(page, "</style>"), 2u) << "the plain style and that of the plots";
}

TEST(Report, AScriptComesWithDrawingsForBrowsersThatRunNone) {
  const std::string page = page_with({.script = "run()", .style = "b{}"});
  EXPECT_THAT(page, HasSubstr("<script>run()</script>"));
  EXPECT_THAT(page, HasSubstr("<style>b{}</style>"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_EQ(count(page, "<svg"), 2u);
  EXPECT_THAT(page, Not(HasSubstr("build Starling")));
}

TEST(Report, WithoutAScriptASentenceSaysHowToGetOne) {
  const std::string page = page_with({});
  EXPECT_THAT(page, HasSubstr("build Starling with Node.js 18"));
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
  EXPECT_EQ(count(page, "<svg"), 2u);
}

TEST(Report, TheScriptIsReadFromTheFolderOfThePage) {
  const TemporaryDirectory folder;
  const auto write = [&](const char* name, const char* text) {
    std::ofstream(folder.path(name)) << text;
  };
  EXPECT_EQ(read_plot_script({}).script, "");
  EXPECT_EQ(read_plot_script(folder.path()).script, "");
  write("report.js", "run()");
  EXPECT_EQ(read_plot_script(folder.path()).script, "") << "report.css is missing";
  write("report.css", "b{}");
  const PlotScript script = read_plot_script(folder.path());
  EXPECT_EQ(script.script, "run()");
  EXPECT_EQ(script.style, "b{}");
}

TEST(Report, ARunAndAComparisonHoldTheDataOfTheirPlots) {
  const CityRun run = run_city({});
  EXPECT_EQ(count(run.report_html, "<script type=\"application/json\">"), 1u);
  const TemporaryDirectory folder;
  for (const char* const name : {"left", "right"}) {
    const std::filesystem::path into = std::filesystem::path(folder.path(name));
    std::filesystem::create_directory(into);
    std::ofstream(into / "report.html") << run.report_html;
    std::ofstream(into / "summary.json") << run.summary_json;
  }
  const Comparison comparison = compare_runs(folder.path("left"), folder.path("right"));
  const std::string page = comparison_page(comparison, {.script = "run()", .style = "b{}"});
  EXPECT_EQ(count(page, "<script type=\"application/json\">"), 2u);
  EXPECT_EQ(count(page, "class=\"plots\""), 2u);
  EXPECT_EQ(count(page, "<svg"), 16u);
  EXPECT_THAT(page, HasSubstr("<script>run()</script>"));
}

}  // namespace
}  // namespace starling::sim::city
