// SPDX-License-Identifier: Apache-2.0
// The flags of `starling serve`, and the run itself: engine, server, endpoints file, log. See
// serve.hpp.
#include "starling/apps/serve.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "starling/apps/shared/engines.hpp"
#include "starling/apps/shared/space_flags.hpp"
#include "starling/sim/files/text_output.hpp"
#include "starling/sim/files/time_text.hpp"
#include "starling/stream/limit_table.hpp"
#include "starling/stream/server.hpp"
#include "starling/stream/sockets/file_limit.hpp"

namespace starling::apps {

namespace {

struct ServeFlags {
  stream::ServerOptions server;
  SpaceFlags space;
  EngineFlags engine;
  std::string endpoints_file;
  std::string log_level = "info";
};

CLI::Option* add_duration(CLI::App& app, const std::string& name, const std::string& help,
                          std::function<void(std::int64_t)> set) {
  return app
      .add_option_function<std::string>(
          name,
          [name, set = std::move(set)](const std::string& text) {
            const auto duration_us = sim::parse_duration_us(text);
            if (!duration_us)
              throw CLI::ValidationError(
                  name, "\"" + text + "\" is no duration; write a number and us, ms, s, m, h or d");
            set(*duration_us);
          },
          help)
      ->type_name("DURATION");
}

void add_endpoint_flags(CLI::App& app, ServeFlags& flags) {
  auto& server = flags.server;
  app.add_option("--commands", server.commands_endpoint, "Where requests come in")
      ->capture_default_str();
  app.add_option("--results", server.results_endpoint, "Where ticks are published")
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--http",
         [&server](const std::string& text) {
           const std::size_t colon = text.rfind(':');
           const std::string port = colon == std::string::npos ? "" : text.substr(colon + 1);
           if (!CLI::detail::lexical_cast(port, server.http_port) || colon == 0)
             throw CLI::ValidationError("--http", "\"" + text + "\" is not HOST:PORT");
           server.http_host = text.substr(0, colon);
         },
         "Where /healthz and /metrics are answered [127.0.0.1:7413]")
      ->type_name("HOST:PORT");
  app.add_option("--endpoints-file", flags.endpoints_file,
                 "Once ready, write the endpoints as bound to this file, as JSON")
      ->type_name("PATH");
}

void add_time_flags(CLI::App& app, ServeFlags& flags) {
  auto& server = flags.server;
  app.add_option_function<std::string>(
         "--tick",
         [&server](const std::string& text) {
           server.tick_period_us.reset();
           if (text == "manual") return;
           server.tick_period_us = sim::parse_duration_us(text);
           if (server.tick_period_us.value_or(0) == 0)
             throw CLI::ValidationError(
                 "--tick", "\"" + text + "\" is neither manual nor a duration such as 100ms");
         },
         "A tick every so often, or manual: when a client advances it [100ms]")
      ->type_name("DURATION|manual");
  add_duration(app, "--future-max", "How far ahead of tau an event time may be [10s; manual: any]",
               [&server](std::int64_t us) { server.future_max_us = us; });
  add_duration(app, "--object-ttl", "Objects without an update for this long leave [never]",
               [&server](std::int64_t us) { server.processor.objects.object_ttl_us = us; });
  add_duration(app, "--tombstone-ttl",
               "After an object leaves, how long older updates are dropped as late [1h]",
               [&server](std::int64_t us) { server.processor.objects.tombstone_ttl_us = us; });
  add_duration(app, "--session-idle", "Sessions without a request for this long are closed [10m]",
               [&server](std::int64_t us) { server.sessions.idle_us = us; });
  add_duration(app, "--question-spin",
               "After a question, how long to look for more work before sleeping [500us]",
               [&server](std::int64_t us) { server.question_spin_us = us; });
  add_duration(app, "--linger",
               "When stopped, how long to wait for clients to take what is sent [2s]",
               [&server](std::int64_t us) { server.linger_ms = static_cast<int>(us / 1000); });
}

void add_limit_flags(CLI::App& app, ServeFlags& flags) {
  auto& server = flags.server;
  for (const stream::Limit& limit : stream::limit_table()) {
    if (!limit.is_settable()) continue;
    const std::string name = "--" + std::string(limit.name);
    auto* option = app.add_option_function<std::uint64_t>(
        name, [&server, &limit](std::uint64_t value) { limit.field.set(server, value); },
        std::string(limit.bounds));
    if (limit.is_in_bytes()) option->transform(CLI::AsSizeValue(false));
    option->check(CLI::Range(limit.value_min, limit.field.value_max))
        ->type_name(limit.is_in_bytes() ? "BYTES" : "COUNT")
        ->default_str(std::to_string(limit.field.get(server)));
  }
}

void start_logging(const std::string& level) {
  auto logger = spdlog::stderr_color_mt("starling");
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(std::move(logger));
}

/// Whole or not at all, for those who wait for the file to appear.
void write_endpoints(const std::string& path, const stream::Endpoints& endpoints) {
  sim::TextOutput file(path, sim::TextOutput::Appears::when_closed);
  file.write("{\"commands\": \"" + endpoints.commands + "\", \"results\": \"" + endpoints.results +
             "\", \"http\": \"" + endpoints.http + "\"}\n");
  file.close();
}

void serve(const ServeFlags& flags) {
  start_logging(flags.log_level);
  stream::raise_file_limit();
  const SpaceOptions& space = flags.server.processor.space;
  const EngineChoice engine = choose_engine(flags.engine);
  stream::Server server(flags.server, engine.make(space));
  const stream::Endpoints& endpoints = server.endpoints();
  if (!flags.endpoints_file.empty()) write_endpoints(flags.endpoints_file, endpoints);
  spdlog::info("ready: {} engine ({}), {}, commands {}, results {}, http {}", engine.name,
               engine.why, name_of(space), endpoints.commands, endpoints.results, endpoints.http);
  server.run();
  spdlog::info("stopped");
}

}  // namespace

std::function<int()> add_serve(CLI::App& program) {
  auto flags = std::make_shared<ServeFlags>();
  flags->server.stop_on_signals = true;
  flags->server.server_name = program.version();
  CLI::App& command = *program.add_subcommand("serve", "Run the server");
  add_endpoint_flags(command, *flags);
  add_space_flags(command, flags->space);
  add_time_flags(command, *flags);
  add_limit_flags(command, *flags);
  add_engine_flags(command, flags->engine);
  command.add_option("--decode-threads", flags->server.decode_threads, "Threads that decode")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  command
      .add_option("--io-threads", flags->server.io_threads,
                  "Threads that move bytes from and to sockets; of several the last serves results")
      ->capture_default_str()
      ->check(CLI::Range(1, 16));
  command
      .add_option("--encode-threads", flags->server.encode_threads,
                  "Threads that encode a large tick; 0: one for each four cores, at most 4")
      ->capture_default_str()
      ->check(CLI::Range(0, 64));
  command.add_option("--log-level", flags->log_level, "What to log on stderr")
      ->capture_default_str()
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "critical", "off"}));
  return [flags] {
    check_space_flags(flags->space);
    flags->server.processor.space = flags->space.space;
    serve(*flags);
    return 0;
  };
}

}  // namespace starling::apps
