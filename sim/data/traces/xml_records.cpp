// SPDX-License-Identifier: Apache-2.0
// Reads SUMO's floating-car data and the tracks of GPX files element by element: see
// record_readers.hpp.
#include <string>
#include <vector>

#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/files/xml_parser.hpp"
#include "starling/sim/data/traces/csv_table.hpp"
#include "starling/sim/data/traces/record_readers.hpp"

namespace starling::sim {
namespace {

/// The vehicles and persons inside a timestep element have the time of this element.
class SumoParser final : public XmlParser {
 public:
  SumoParser(const std::string& path, bool persons, const RecordHandler& handler)
      : XmlParser(path), persons_(persons), handler_(handler) {}

 private:
  void start(std::string_view name, const XmlAttributes& attributes) override {
    if (name == "timestep") {
      time_ = attributes["time"];
      return;
    }
    if (name != "vehicle" && !(persons_ && name == "person")) return;
    RowText row;
    for (Field* const field : {&row.id, &row.time, &row.x, &row.y, &row.z, &row.tags}) {
      field->line = line();
      field->column = column();
    }
    row.time.text = time_;
    row.id.text = attributes["id"];
    row.x.text = attributes["x"];
    row.y.text = attributes["y"];
    row.z.text = attributes["z"];
    handler_(row);
  }

  void end(std::string_view name) override {
    if (name == "timestep") time_.clear();
  }

  const bool persons_;
  const RecordHandler& handler_;
  std::string time_;
};

/// A track point is a row, and the name of its track is the id. The id of a track
/// without a name is the name of the file.
class GpxParser final : public XmlParser {
 public:
  GpxParser(const std::string& path, const RecordHandler& handler)
      : XmlParser(path), handler_(handler) {
    take_text();
  }

 private:
  static std::string_view without_prefix(std::string_view name) {
    const std::size_t colon = name.find(':');
    return colon == std::string_view::npos ? name : name.substr(colon + 1);
  }

  bool is_in(std::string_view element) const { return !open_.empty() && open_.back() == element; }

  void start(std::string_view prefixed, const XmlAttributes& attributes) override {
    const std::string_view name = without_prefix(prefixed);
    text_.clear();
    if (name == "trk") {
      id_ = id_in_file_name(path_, "");
      if (++tracks_ > 1) id_ += "-" + std::to_string(tracks_);
    } else if (name == "trkpt") {
      latitude_ = attributes["lat"];
      longitude_ = attributes["lon"];
      time_.clear();
      altitude_.clear();
      line_ = line();
      column_ = column();
    }
    open_.emplace_back(name);
  }

  void text(std::string_view piece) override { text_ += piece; }

  void end(std::string_view prefixed) override {
    const std::string_view name = without_prefix(prefixed);
    open_.pop_back();
    if (name == "name" && is_in("trk") && !trim(text_).empty()) id_ = trim(text_);
    if (name == "time" && is_in("trkpt")) time_ = trim(text_);
    if (name == "ele" && is_in("trkpt")) altitude_ = trim(text_);
    text_.clear();
    if (name != "trkpt") return;
    const auto field = [this](const std::string& text) { return Field{text, line_, column_}; };
    static const std::string nothing;
    handler_({field(id_),
              field(time_),
              field(longitude_),
              field(latitude_),
              field(altitude_),
              field(nothing),
              {}});
  }

  const RecordHandler& handler_;
  std::vector<std::string> open_;  ///< names of the elements that enclose the parser's position
  std::string text_;
  std::uint64_t tracks_ = 0;
  std::string id_;
  std::string latitude_;
  std::string longitude_;
  std::string time_;
  std::string altitude_;
  std::uint64_t line_ = 0;
  std::uint64_t column_ = 0;
};

}  // namespace

void read_gpx_records(TextInput& input, const RecordOptions&, const RecordHandler& handler) {
  GpxParser(input.path(), handler).read(input);
}

void read_sumo_records(TextInput& input, const RecordOptions& options,
                       const RecordHandler& handler) {
  SumoParser(input.path(), options.persons, handler).read(input);
}

}  // namespace starling::sim
