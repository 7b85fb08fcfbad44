// SPDX-License-Identifier: Apache-2.0
// Defines one writer class per format: see trace_writer.hpp.
#include "starling/sim/data/traces/trace_writer.hpp"

#include <charconv>

#include "starling/knn/base/time_text.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/quoted_text.hpp"
#include "starling/sim/data/files/text_append.hpp"

namespace starling::sim {
namespace {

constexpr std::size_t pending_bytes_max = 256 << 10;
// A time has a year of four digits if it is in [year_0000_us, year_10000_us).
constexpr std::int64_t year_0000_us = -62'167'219'200'000'000;
constexpr std::int64_t year_10000_us = 253'402'300'800'000'000;

/// Appends the shortest text without an exponent, because GPX allows no exponents.
void append_coordinate(std::string& text, double value) {
  append_number(text, value, std::chars_format::fixed);
}

class CsvWriter : public TraceWriter {
 public:
  CsvWriter(const TraceShape& shape, const NameTable& names, TextOutput& output)
      : TraceWriter(shape, names, output) {
    text_ = shape_.geographic ? "id,time_us,lon,lat" : "id,time_us,x,y";
    if (shape_.has_z) text_ += shape_.geographic ? ",alt" : ",z";
    if (shape_.has_tags) text_ += ",tags";
    text_ += '\n';
  }

 private:
  void append(const TraceRow& row) override {
    append_csv(text_, name_of(row.id));
    text_ += ',';
    append_number(text_, row.time_us);
    for (std::size_t axis = 0; axis < (shape_.has_z ? 3 : 2); ++axis) {
      text_ += ',';
      append_coordinate(text_, row.position[axis]);
    }
    if (shape_.has_tags) text_ += ',';
    if (shape_.has_tags && row.has_tags) append_number(text_, row.tags);
    text_ += '\n';
  }

  void append_end() override {}
};

class SumoWriter : public TraceWriter {
 public:
  SumoWriter(const TraceShape& shape, const NameTable& names, TextOutput& output)
      : TraceWriter(shape, names, output) {
    text_ = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fcd-export>\n";
  }

 private:
  void append(const TraceRow& row) override {
    if (row.time_us != time_us_) {
      end_timestep();
      text_ += "  <timestep time=\"";
      append_seconds(row.time_us);
      text_ += "\">\n";
      time_us_ = row.time_us;
    }
    text_ += "    <vehicle id=\"";
    append_xml_id(row.id);
    append_attribute("\" x=\"", row.position[0]);
    append_attribute("\" y=\"", row.position[1]);
    if (shape_.has_z) append_attribute("\" z=\"", row.position[2]);
    text_ += "\"/>\n";
  }

  void append_end() override {
    end_timestep();
    text_ += "</fcd-export>\n";
  }

  void end_timestep() {
    if (time_us_) text_ += "  </timestep>\n";
  }

  void append_attribute(std::string_view between, double value) {
    text_ += between;
    append_coordinate(text_, value);
  }

  /// Appends the exact time in seconds. Writes two decimals as SUMO does, or more if they are
  /// needed.
  void append_seconds(std::int64_t time_us) {
    const auto magnitude_us =
        time_us < 0 ? 0 - static_cast<std::uint64_t>(time_us) : static_cast<std::uint64_t>(time_us);
    if (time_us < 0) text_ += '-';
    append_number(text_, magnitude_us / 1'000'000);
    std::string decimals = std::to_string(1'000'000 + magnitude_us % 1'000'000);
    decimals.front() = '.';
    while (decimals.size() > 3 && decimals.back() == '0') decimals.pop_back();
    text_ += decimals;
  }

  std::optional<std::int64_t> time_us_;
};

class GeoJsonWriter : public TraceWriter {
 public:
  GeoJsonWriter(const TraceShape& shape, const NameTable& names, TextOutput& output)
      : TraceWriter(shape, names, output) {
    text_ = "{\"type\":\"FeatureCollection\",\"features\":[";
  }

 private:
  void append(const TraceRow& row) override {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    text_ += "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[";
    for (std::size_t axis = 0; axis < (shape_.has_z ? 3 : 2); ++axis) {
      if (axis > 0) text_ += ',';
      append_coordinate(text_, row.position[axis]);
    }
    text_ += "]},\"properties\":{\"id\":";
    append_json(text_, name_of(row.id));
    text_ += ",\"time\":\"";
    append_time(row);
    text_ += '"';
    if (row.has_tags) {
      text_ += ",\"tags\":";
      append_number(text_, row.tags);
    }
    text_ += "}}";
  }

  void append_end() override { text_ += "\n]}\n"; }

  bool first_ = true;
};

class GpxWriter : public TraceWriter {
 public:
  GpxWriter(const TraceShape& shape, const NameTable& names, TextOutput& output)
      : TraceWriter(shape, names, output) {
    text_ =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<gpx version=\"1.1\" creator=\"starling\" xmlns=\"http://www.topografix.com/GPX/1/1\">\n";
  }

 private:
  void append(const TraceRow& row) override {
    if (row.id != object_) {
      end_track();
      text_ += "<trk><name>";
      append_xml_id(row.id);
      text_ += "</name><trkseg>\n";
      object_ = row.id;
    }
    text_ += "<trkpt lat=\"";
    append_coordinate(text_, row.position[1]);
    text_ += "\" lon=\"";
    append_coordinate(text_, row.position[0]);
    text_ += "\">";
    if (shape_.has_z) {
      text_ += "<ele>";
      append_coordinate(text_, row.position[2]);
      text_ += "</ele>";
    }
    text_ += "<time>";
    append_time(row);
    text_ += "</time></trkpt>\n";
  }

  void append_end() override {
    end_track();
    text_ += "</gpx>\n";
  }

  void end_track() {
    if (object_) text_ += "</trkseg></trk>\n";
  }

  std::optional<ObjectId> object_;
};

}  // namespace

void TraceWriter::write(const TraceRow& row) {
  append(row);
  if (text_.size() < pending_bytes_max) return;
  output_.write(text_);
  text_.clear();
}

void TraceWriter::finish() {
  append_end();
  output_.write(text_);
  output_.finish();
}

void TraceWriter::close() {
  finish();
  output_.close();
}

void TraceWriter::append_time(const TraceRow& row) {
  if (row.time_us < year_0000_us || row.time_us >= year_10000_us)
    throw InputError("geojson and gpx hold times of the years 0000 to 9999, but " +
                     quoted_text(name_of(row.id)) + " has a row at " + iso_time_text(row.time_us) +
                     "; --from and --until leave it out, and csv and sumo hold it");
  text_ += iso_time_text(row.time_us);
}

void TraceWriter::append_xml_id(ObjectId id) {
  const std::string_view name = name_of(id);
  if (!append_xml(text_, name) && first_changed_id_.empty()) first_changed_id_ = name;
}

std::string_view TraceWriter::name_of(ObjectId id) {
  return names_.text_of(to_number(id), number_);
}

std::optional<TraceFormat> trace_format_from_string(std::string_view text) {
  if (text == "csv") return TraceFormat::csv;
  if (text == "sumo") return TraceFormat::sumo;
  if (text == "geojson") return TraceFormat::geojson;
  if (text == "gpx") return TraceFormat::gpx;
  return std::nullopt;
}

std::optional<RowOrder> order_needed(TraceFormat format) {
  if (format == TraceFormat::sumo) return RowOrder::time;
  if (format == TraceFormat::gpx) return RowOrder::object_and_time;
  return std::nullopt;
}

bool needs_wgs84(TraceFormat format) {
  return format == TraceFormat::geojson || format == TraceFormat::gpx;
}

std::unique_ptr<TraceWriter> make_trace_writer(TraceFormat format, const TraceShape& shape,
                                               const NameTable& names, TextOutput& output) {
  switch (format) {
    case TraceFormat::csv:
      return std::make_unique<CsvWriter>(shape, names, output);
    case TraceFormat::sumo:
      return std::make_unique<SumoWriter>(shape, names, output);
    case TraceFormat::geojson:
      return std::make_unique<GeoJsonWriter>(shape, names, output);
    case TraceFormat::gpx:
      return std::make_unique<GpxWriter>(shape, names, output);
  }
  return nullptr;
}

}  // namespace starling::sim
