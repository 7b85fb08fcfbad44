// SPDX-License-Identifier: Apache-2.0
// Reads SUMO's floating-car data element by element: the vehicles and persons inside a timestep
// element have the time of this element. See record_readers.hpp.
#include <string>

#include "starling/sim/files/errors.hpp"
#include "starling/sim/files/xml_parser.hpp"
#include "starling/sim/traces/record_readers.hpp"

namespace starling::sim {
namespace {

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

}  // namespace

void read_sumo_records(TextInput& input, const RecordOptions& options,
                       const RecordHandler& handler) {
  SumoParser(input.path(), options.persons, handler).read(input);
}

}  // namespace starling::sim
