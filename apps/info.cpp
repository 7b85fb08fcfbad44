// SPDX-License-Identifier: Apache-2.0
// Prints what `starling info` shows. The values come from the engine, the defaults of the limits
// and the libraries, and none is written in this file. See info.hpp.
#include "starling/apps/info.hpp"

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <CLI/CLI.hpp>
#include <boost/version.hpp>
#include <flatbuffers/base.h>
#include <hwy/highway.h>
#include <zmq.hpp>

#include "starling/apps/shared/engines.hpp"
#include "starling/apps/shared/server/key_flags.hpp"
#include "starling/apps/shared/space_flags.hpp"
#include "starling/knn/base/plain_text.hpp"
#include "starling/protocol/client/client.hpp"
#include "starling/protocol/wire/limits.hpp"
#include "starling/stream/operation/limit_table.hpp"

namespace starling::apps {
namespace {

constexpr std::int64_t connect_timeout_ms = 5000;

template <class Value>
void line(std::string_view name, const Value& value) {
  std::cout << std::left << std::setw(24) << name << value << '\n';
}

std::string dotted(int major, int minor, int patch) {
  return std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
}

void limit_line(std::string_view name, std::string_view value, std::string_view used,
                std::string_view of, std::string_view bounds) {
  std::cout << "  " << std::left << std::setw(25) << name << std::right << std::setw(12) << value
            << std::setw(12) << used << "  " << std::left << std::setw(12) << of << bounds << '\n';
}

void show_default_limits() {
  std::cout << "\nlimits of a server, if its flags do not change them\n";
  limit_line("name", "default", "", "of each", "bounds");
  const stream::ServerOptions defaults;
  for (const stream::Limit& limit : stream::limit_table())
    limit_line(limit.name, std::to_string(limit.field.get(defaults)), "", to_string(limit.of),
               limit.bounds);
}

/// Shows the values that the server reports. If a server of another version lacks a limit, the
/// value of this limit is left blank.
void show_limits_of(const std::string& endpoint, const KeyFlags& key) {
  zmq::context_t context;
  protocol::Client client(context, {.commands = endpoint,
                                    .name = "starling info",
                                    .key = key_of(key),
                                    .connect_timeout_ms = connect_timeout_ms});
  const std::string server = plain_text(client.server().server);
  const protocol::StatValues stats = client.get_stats().value();
  const auto value_of = [&](const std::string& metric, std::string_view name) {
    const std::string labelled = metric + "{name=\"" + std::string(name) + "\"}";
    const auto found = std::ranges::find(stats, labelled, &protocol::StatValues::value_type::first);
    if (found == stats.end()) return std::string();
    return std::to_string(static_cast<std::uint64_t>(found->second));
  };
  line("space", name_of(client.server().space));
  std::cout << "\nlimits of " << server << " at " << endpoint << '\n';
  limit_line("name", "value", "used", "of each", "bounds");
  for (const stream::Limit& limit : stream::limit_table())
    limit_line(limit.name, value_of("starling_limit", limit.name),
               value_of("starling_limit_used", limit.name), to_string(limit.of), limit.bounds);
}

void show_info() {
  line("starling", STARLING_VERSION);
  line("wire protocol", protocol::protocol_version);

  const CpuFacts cpu = describe_cpu();
  std::cout << "\nengine " << cpu.name << '\n';
  line("  cores", std::thread::hardware_concurrency());
  line("  SIMD target", cpu.simd_target);
  line("  objects at most", cpu.limits.objects_max);
  line("  queries at most", cpu.limits.queries_max);
  line("  k at most", cpu.limits.k_max);
  line("  neighbours at most", cpu.limits.neighbors_max);
  const CudaFacts cuda = describe_cuda();
  line("CUDA engine", cuda.library);
  const EngineChoice chosen = choose_engine({});
  line("--engine auto", chosen.name + ", " + chosen.why);
  if (!chosen.why_no_gpu.empty()) line("GPU", chosen.why_no_gpu);
  if (!cuda.exchange.empty()) line("several GPUs", cuda.exchange);

  show_default_limits();

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
  CLI::App& command = *program.add_subcommand(
      "info", "Show the version, the engines, the limits and the libraries");
  const auto connect = std::make_shared<std::string>();
  const auto key = std::make_shared<KeyFlags>();
  command
      .add_option(
          "--connect", *connect,
          "Show the space of the server at this commands endpoint, its limits and how much of each "
          "is used")
      ->type_name("ENDPOINT");
  add_key_flags(command, *key);
  return [connect, key] {
    if (connect->empty())
      show_info();
    else
      show_limits_of(*connect, *key);
    return 0;
  };
}

}  // namespace starling::apps
