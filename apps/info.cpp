// What `starling info` prints, asked of the engine, the limits' defaults and the libraries
// themselves rather than written down: see info.hpp.
#include "apps/info.hpp"

#include <iomanip>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

#include <CLI/CLI.hpp>
#include <boost/version.hpp>
#include <flatbuffers/base.h>
#include <hwy/highway.h>
#include <zmq.hpp>

#include "cpu/cpu_engine.hpp"
#include "knn/engine.hpp"
#include "protocol/limits.hpp"

namespace starling::apps {
namespace {

template <class Value>
void line(std::string_view name, const Value& value) {
  std::cout << std::left << std::setw(24) << name << value << '\n';
}

std::string dotted(int major, int minor, int patch) {
  return std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
}

void show_info() {
  line("starling", STARLING_VERSION);
  line("wire protocol", protocol::protocol_version);

  const auto engine = cpu::make_engine({.space = Space::planar2, .threads = 1});
  std::cout << "\nengine " << engine->name() << '\n';
  line("  cores", std::thread::hardware_concurrency());
  line("  SIMD target", cpu::simd_target());
  line("  objects at most", engine->limits().objects_max);
  line("  queries at most", engine->limits().queries_max);
  line("  k at most", engine->limits().k_max);
  line("  neighbours at most", engine->limits().neighbors_max);

  const protocol::Limits limits;
  std::cout << "\na server's limits, unless its flags say otherwise\n";
  line("  request bytes", limits.frame_bytes_max);
  line("  rows a request", limits.rows_max);
  line("  credit, rows", limits.credit_rows);
  line("  credit, bytes", limits.credit_bytes);
  line("  questions a request", limits.questions_max);

  int major = 0;
  int minor = 0;
  int patch = 0;
  zmq_version(&major, &minor, &patch);
  std::cout << "\nlibraries\n";
  line("  Boost", dotted(BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100));
  line("  ZeroMQ", dotted(major, minor, patch));
  line("  FlatBuffers",
       dotted(FLATBUFFERS_VERSION_MAJOR, FLATBUFFERS_VERSION_MINOR, FLATBUFFERS_VERSION_REVISION));
  line("  Highway", dotted(HWY_MAJOR, HWY_MINOR, HWY_PATCH));
}

}  // namespace

std::function<int()> add_info(CLI::App& program) {
  program.add_subcommand("info", "Show version, engines, limits and libraries");
  return [] {
    show_info();
    return 0;
  };
}

}  // namespace starling::apps
