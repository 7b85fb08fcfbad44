// SPDX-License-Identifier: Apache-2.0
// Adds the flags of `starling serve` in the groups of its --help, and runs the server: engine,
// endpoints file and log. See serve.hpp.
#include "starling/apps/serve.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "starling/apps/check_config.hpp"
#include "starling/apps/shared/engines.hpp"
#include "starling/apps/shared/http_flag.hpp"
#include "starling/apps/shared/page_folder.hpp"
#include "starling/apps/shared/page_network.hpp"
#include "starling/apps/shared/process/service_notifier.hpp"
#include "starling/apps/shared/space_flags.hpp"
#include "starling/apps/shared/text/screen.hpp"
#include "starling/knn/base/time_text.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/text_output.hpp"
#include "starling/stream/operation/dropping_log.hpp"
#include "starling/stream/operation/limit_table.hpp"
#include "starling/stream/operation/options.hpp"
#include "starling/stream/server.hpp"
#include "starling/stream/tls/tls_context.hpp"

namespace starling::apps {

namespace {

constexpr const char* everyday = "Everyday";
constexpr const char* threads_and_tuning = "Threads and tuning";

struct ServeFlags {
  stream::ServerOptions server;
  SpaceFlags space;
  EngineFlags engine;
  std::string endpoints_file;
  std::string page;
  std::string page_network;
  std::string log_level = "info";
  bool check_config = false;
  WrittenValues written;  ///< the values that --check-config prints
};

/// Adds a flag for a duration. --help shows `shown_default` as the default. If `shown_default` is
/// empty, `help` says what happens without the flag.
CLI::Option* add_duration(CLI::App& app, const std::string& name, const std::string& help,
                          const std::string& shown_default, std::function<void(std::int64_t)> set) {
  return app
      .add_option_function<std::string>(
          name,
          [name, set = std::move(set)](const std::string& text) {
            const auto duration_us = parse_duration_us(text);
            if (!duration_us)
              throw CLI::ValidationError(
                  name, "\"" + text +
                            "\" is not a duration; write a number and us, ms, s, m, h or d, such "
                            "as 500ms");
            set(*duration_us);
          },
          help)
      ->type_name("DURATION")
      ->default_str(shown_default);
}

stream::TlsFiles& tls_of(stream::ServerOptions& server) {
  if (!server.tls) server.tls.emplace();
  return *server.tls;
}

void add_endpoint_flags(CLI::App& app, ServeFlags& flags) {
  auto& server = flags.server;
  app.add_option("--commands", server.commands_endpoint,
                 "The endpoint to which clients send requests")
      ->type_name("ENDPOINT")
      ->capture_default_str();
  app.add_option("--results", server.results_endpoint,
                 "The endpoint at which ticks are published to subscribers")
      ->type_name("ENDPOINT")
      ->capture_default_str();
  add_http_flag(app, server.http_host, server.http_port,
                "The address of the HTTP server: /healthz, /metrics and the JSON of docs/http.md");
  app.add_flag("--insecure", server.insecure,
               "Listen also without keys on addresses that other machines can reach. There is no "
               "authentication, and no encryption but that of HTTP with --tls-cert: every client "
               "that reaches an endpoint can read and change everything");
  app.add_option("--keys", server.keys_path,
                 "The keys file: who may use the server, and what for (docs/security.md). The "
                 "commands and results endpoints are then encrypted, and other machines may reach "
                 "them; HTTP takes tokens, and needs --tls-cert for that. SIGHUP reads the file "
                 "again")
      ->type_name("PATH");
  app.add_option("--audit-log", server.audit_path,
                 "Append a line of JSON to this file for each client that is let in or refused, "
                 "each request that is refused for lack of rights, and each new reading of the "
                 "keys. -: stderr")
      ->type_name("PATH");
  app.add_option_function<std::string>(
         "--tls-cert", [&server](const std::string& path) { tls_of(server).certificate = path; },
         "Speak only TLS 1.3 at the HTTP endpoint, with the certificate in this file, in PEM. The "
         "certificates of its issuers follow it in the file. Needs --tls-key (docs/security.md). "
         "SIGHUP reads both files again")
      ->type_name("PATH");
  app.add_option_function<std::string>(
         "--tls-key", [&server](const std::string& path) { tls_of(server).key = path; },
         "The private key of the certificate, in PEM, in a file that only its owner and group may "
         "read")
      ->type_name("PATH");
  app.add_option("--trusted-proxy", server.http_trusted_proxy,
                 "What is in front of the HTTP endpoint. none: clients connect to it directly, and "
                 "a request with a field such as X-Forwarded-For has no rights without a token. Or "
                 "the addresses of proxies, separated by commas: what they say of their clients "
                 "(Forwarded, X-Forwarded-For, PROXY protocol v2) counts. Needed for a keys file "
                 "with [anonymous] (docs/security.md)")
      ->type_name("ADDRESSES");
  app.add_option("--http-allow-host", server.http_hosts,
                 "A further name of this server that HTTP requests may have as their Host. Without "
                 "this flag, localhost and the address to which the client connected")
      ->type_name("NAME");
  app.add_option("--http-allow-origin", server.http_origins,
                 "A further origin, such as https://map.example.org, whose pages may send changes "
                 "over HTTP. Without this flag, this server's own pages")
      ->type_name("ORIGIN");
  app.add_option("--page", flags.page,
                 "Serve the files of this folder at / over HTTP. Without this flag, the live page "
                 "beside the program, if it is built or installed. none: no page")
      ->type_name("DIR");
  add_page_network_flag(app, flags.page_network);
  app.add_option(
         "--endpoints-file", flags.endpoints_file,
         "When the server is ready, write its endpoints to this file, as JSON. It holds the "
         "ports that the system chose")
      ->type_name("PATH");
}

void add_everyday_time_flags(CLI::App& app, ServeFlags& flags) {
  auto& server = flags.server;
  app.add_option_function<std::string>(
         "--tick",
         [&server](const std::string& text) {
           server.tick_period_us.reset();
           if (text == "manual") return;
           server.tick_period_us = parse_duration_us(text);
           if (server.tick_period_us.value_or(0) == 0)
             throw CLI::ValidationError(
                 "--tick", "\"" + text + "\" is neither manual nor a duration such as 100ms");
         },
         "The time between two ticks; or manual: a tick begins only when a client requests it")
      ->type_name("DURATION|manual")
      ->default_str("100ms");
  add_duration(app, "--object-ttl",
               "Remove an object that had no update for this long. Without this flag, objects stay "
               "until they are removed",
               "", [&server](std::int64_t us) { server.processor.objects.object_ttl_us = us; });
}

void add_journal_flags(CLI::App& app, ServeFlags& flags) {
  auto& journal = flags.server.journal;
  app.add_option("--journal", journal.folder,
                 "Write a log of all changes to this folder, and go on with it after a restart: "
                 "nothing that was acknowledged is lost (docs/operating.md). Without this flag, a "
                 "restart loses everything")
      ->type_name("DIR");
  app.add_option_function<std::string>(
         "--durability",
         [&journal](const std::string& text) {
           journal.durability = stream::durability_from_string(text);
           if (!journal.durability)
             throw CLI::ValidationError("--durability",
                                        "\"" + text + "\" is neither off, tick nor sync");
         },
         "When a change is acknowledged. off: at once, and there is no log. tick: when it is in "
         "the log on the disk, which is synced at each tick and within 10 ms. sync: the same, and "
         "the "
         "disk is synced without pause. Without this flag, tick with --journal, else off")
      ->type_name("WHEN");
  add_duration(
      app, "--journal-tail-age",
      "Make a snapshot of the log when the last one is older than this, and remove what it "
      "stands for",
      "1h", [&journal](std::int64_t us) { journal.tail_age_max_us = us; });
  add_duration(app, "--journal-keep",
               "Keep enough of the log to answer questions about the last hours or days: ask --at, "
               "replay --journal. Without this flag, it begins at the last snapshot",
               "", [&journal](std::int64_t us) { journal.keep_us = us; });
}

void add_time_limit_flags(CLI::App& app, ServeFlags& flags) {
  auto& server = flags.server;
  add_duration(app, "--future-max",
               "Reject an update whose event time is further than this ahead of the server's time. "
               "Without this flag, 10s; with --tick manual, no limit",
               "", [&server](std::int64_t us) { server.future_max_us = us; });
  add_duration(app, "--tau-step-max",
               "With --tick manual, refuse a request that moves the server's time forward by more "
               "than this. 0s: no limit",
               "3650d", [&server](std::int64_t us) { server.tau_step_max_us = us; });
  add_duration(app, "--clock-step-wait",
               "If the system's clock is set by more than a second, follow it only if it stays so "
               "for this long. docs/operating.md explains it",
               "1m", [&server](std::int64_t us) { server.clock_step_wait_us = us; });
  add_duration(app, "--tombstone-ttl",
               "Remember an object for this long after it has left, so that older updates are "
               "dropped as late",
               "1h",
               [&server](std::int64_t us) { server.processor.objects.tombstone_ttl_us = us; });
  add_duration(app, "--session-idle", "Close a session that had no request for this long", "10m",
               [&server](std::int64_t us) { server.sessions.idle_us = us; });
}

/// Returns the number in the largest unit that gives a whole number, such as "16MiB". The flags
/// accept this form.
std::string text_of_bytes(std::uint64_t bytes) {
  std::string unit;
  for (const char* larger : {"KiB", "MiB", "GiB"}) {
    if (bytes == 0 || bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = larger;
  }
  return std::to_string(bytes) + unit;
}

const char* group_of(stream::LimitOf of) {
  switch (of) {
    case stream::LimitOf::request:
      return "Limits of one request";
    case stream::LimitOf::session:
      return "Limits of each session";
    case stream::LimitOf::connection:
      return "Limits of each connection";
    case stream::LimitOf::subscriber:
      return "Limits of each subscriber";
    case stream::LimitOf::server:
      return "Limits of the whole server";
  }
  return "Limits";
}

void add_limit_flags(CLI::App& app, ServeFlags& flags) {
  auto& server = flags.server;
  for (const stream::Limit& limit : stream::limit_table()) {
    if (!limit.is_settable()) continue;
    const std::string name = "--" + std::string(limit.name);
    auto* option = app.add_option_function<std::uint64_t>(
        name, [&server, &limit](std::uint64_t value) { limit.field.set(server, value); },
        std::string(limit.bounds));
    const std::uint64_t value = limit.field.get(server);
    if (limit.is_in_bytes()) option->transform(CLI::AsSizeValue(false).description(""));
    option->check(CLI::Range(limit.value_min, limit.field.value_max).description(""))
        ->type_name(limit.is_in_bytes() ? "BYTES" : "COUNT")
        ->default_str(limit.is_in_bytes() ? text_of_bytes(value) : std::to_string(value))
        ->group(group_of(limit.of));
  }
}

void add_thread_count(CLI::App& app, const std::string& name, unsigned& threads, unsigned least,
                      unsigned most, const std::string& help) {
  app.add_option(name, threads, help)
      ->type_name("COUNT")
      ->capture_default_str()
      ->check(CLI::Range(least, most).description(""));
}

void add_tuning_flags(CLI::App& app, ServeFlags& flags) {
  auto& server = flags.server;
  add_thread_count(app, "--decode-threads", server.decode_threads, 1, 64,
                   "Threads that decode requests, 1 to 64");
  add_thread_count(app, "--update-threads", server.update_threads, 0, 64,
                   "Threads that apply updates to the table of objects, up to 64. 0: one for each "
                   "two cores, at most 8");
  add_thread_count(app, "--io-threads", server.io_threads, 1, 16,
                   "Threads that move bytes between sockets and network, 1 to 16. If there are "
                   "several, some serve the results endpoint alone");
  add_thread_count(
      app, "--results-io-threads", server.results_io_threads, 1, 15,
      "How many of several I/O threads serve the results endpoint. Several subscribers are spread "
      "over them");
  add_thread_count(app, "--encode-threads", server.encode_threads, 0, 64,
                   "Threads that encode a large tick, up to 64. 0: one for each two cores, at "
                   "most 8");
  app.add_option("--trace", server.trace_path,
                 "Write when the stages of the first 1,000 ticks began and ended to this file, "
                 "which chrome://tracing and ui.perfetto.dev show")
      ->type_name("PATH");
  add_duration(app, "--question-spin",
               "After a one-shot question, poll for more work for this long before sleeping. A "
               "longer time answers sooner and uses more CPU",
               "500us", [&server](std::int64_t us) { server.question_spin_us = us; });
  add_duration(app, "--linger",
               "On SIGTERM or SIGINT, wait at most this long until clients have received what was "
               "sent to them",
               "2s", [&server](std::int64_t us) {
                 constexpr std::int64_t ms_max = std::numeric_limits<int>::max();
                 if (us / 1000 > ms_max) throw CLI::ValidationError("--linger", "at most 24d");
                 server.linger_ms = static_cast<int>(us / 1000);
               });
}

/// The program's log on stderr, as long as the object exists. A reader of stderr that stops
/// reading, or closes its end, neither blocks nor ends the server.
class ServerLog {
 public:
  explicit ServerLog(const std::string& level)
      : sink_(std::make_shared<stream::DroppingLog>(stream::DroppingLogOptions{
            .descriptor = STDERR_FILENO,
            .has_colors = isatty(STDERR_FILENO) == 1 && may_use_colors()})) {
    std::signal(SIGPIPE, SIG_IGN);
    auto logger = std::make_shared<spdlog::logger>("starling", sink_);
    logger->set_level(spdlog::level::from_str(level));
    logger->set_error_handler([](const std::string&) {});  // spdlog's own writes to stderr
    spdlog::set_default_logger(std::move(logger));
  }
  ~ServerLog() { sink_->close(std::chrono::seconds(1)); }
  ServerLog(const ServerLog&) = delete;
  ServerLog& operator=(const ServerLog&) = delete;

  std::function<std::uint64_t()> dropped() const {
    return [sink = sink_] { return sink->dropped(); };
  }

 private:
  std::shared_ptr<stream::DroppingLog> sink_;
};

/// The file appears only when it is complete, so that other programs can wait for it.
void write_endpoints(const std::string& path, const stream::Endpoints& endpoints) {
  sim::TextOutput file(path, sim::TextOutput::Appears::when_closed);
  file.write("{\"commands\": \"" + endpoints.commands + "\", \"results\": \"" + endpoints.results +
             "\", \"http\": \"" + endpoints.http + "\"}\n");
  file.close();
}

/// Adds a fault if no file can be created in the folder of `path`.
void check_folder_of(const std::string& flag, const std::string& path,
                     std::vector<std::string>& faults) {
  if (path.empty()) return;
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    faults.push_back(flag + ": nothing can be written into " + folder.string() + ": " +
                     std::strerror(errno));
}

/// Prints a warning if the certificate is not valid now. The server starts nevertheless.
void print_tls_warning(const stream::TlsFiles& files) {
  try {
    const std::string warning = stream::load_tls(files).warning;
    if (!warning.empty()) std::cerr << "starling serve: warning: " << warning << '\n';
  } catch (const std::runtime_error&) {
    return;  // faults_of() reports this error
  }
}

int check_config(const CLI::App& command, const ServeFlags& flags) {
  std::vector<std::string> faults;
  try {
    const auto engine = choose_engine(flags.engine).make(flags.server.processor.space);
    stream::ServerOptions options = flags.server;
    options.page_folder = page_folder(flags.page);
    options.journal.make_engine = snapshot_engine;
    faults = stream::faults_of(options, engine->limits());
  } catch (const std::exception& error) {
    faults.emplace_back(error.what());
  }
  try {
    read_page_network(flags.page_network, flags.server.processor.space.space);
  } catch (const std::exception& error) {
    faults.emplace_back(error.what());
  }
  check_folder_of("--endpoints-file", flags.endpoints_file, faults);
  check_folder_of("--trace", flags.server.trace_path, faults);
  if (std::filesystem::is_directory(flags.server.journal.folder))
    check_folder_of("--journal", flags.server.journal.folder + "/log", faults);
  else
    check_folder_of("--journal", flags.server.journal.folder, faults);
  if (flags.server.audit_path != "-")
    check_folder_of("--audit-log", flags.server.audit_path, faults);
  if (flags.server.tls) print_tls_warning(*flags.server.tls);
  return print_config(command, flags.written, faults);
}

/// Runs the server until it is told to stop. Returns the exit status. An error goes to the log,
/// because a write to stderr blocks for ever if its reader has stopped reading.
int run(stream::Server& server) {
  try {
    server.run();
  } catch (const std::exception& error) {
    spdlog::set_level(spdlog::level::critical);  // also with --log-level off
    spdlog::critical("{}", error.what());
    return 1;
  }
  spdlog::info("stopped");
  return 0;
}

/// Returns the callbacks with which the server's loop reports to systemd that it is ready, alive or
/// stopping.
stream::ServerOptions::Alive alive_for(const ServiceNotifier& notifier) {
  const auto tell = [&notifier](const char* state) {
    if (!notifier.notify(state)) spdlog::warn("systemd did not get {}", state);
  };
  return {.ready = [tell] { tell("READY=1"); },
          .alive = [&notifier] { notifier.notify("WATCHDOG=1"); },
          .stopping = [tell] { tell("STOPPING=1"); },
          .period_us = notifier.watchdog_us().value_or(0) / 3};
}

/// Returns null if a signal has stopped the server before it had read its log.
std::unique_ptr<stream::Server> started(const stream::ServerOptions& options,
                                        std::unique_ptr<Engine> engine) {
  try {
    return std::make_unique<stream::Server>(options, std::move(engine));
  } catch (const stream::StoppedAtStart& stopped) {
    spdlog::info("{}", stopped.what());
    return nullptr;
  }
}

int serve(const ServeFlags& flags) {
  const ServiceNotifier notifier;
  const ServerLog log(flags.log_level);
  const SpaceOptions& space = flags.server.processor.space;
  const EngineChoice engine = choose_engine(flags.engine);
  stream::ServerOptions options = flags.server;
  options.log_lines_dropped = log.dropped();
  options.alive = alive_for(notifier);
  options.page_folder = page_folder(flags.page);
  options.network = read_page_network(flags.page_network, space.space);
  options.journal.make_engine = snapshot_engine;
  const std::unique_ptr<stream::Server> made = started(options, engine.make(space));
  if (made == nullptr) return 0;
  stream::Server& server = *made;
  const stream::Endpoints& endpoints = server.endpoints();
  if (!flags.endpoints_file.empty()) write_endpoints(flags.endpoints_file, endpoints);
  spdlog::info("ready: {} engine ({}), {}, commands {}, results {}, http {}", engine.name,
               engine.why, name_of(space), endpoints.commands, endpoints.results, endpoints.http);
  return run(server);
}

}  // namespace

std::function<int()> add_serve(CLI::App& program) {
  auto flags = std::make_shared<ServeFlags>();
  flags->server.stop_on_signals = true;
  flags->server.server_name = program.version();
  CLI::App& command = *program.add_subcommand("serve", "Run the server");
  const auto next_group = [&command](const char* name) { command.option_defaults()->group(name); };
  command.get_help_ptr()->group(everyday);
  next_group(everyday);
  add_endpoint_flags(command, *flags);
  add_everyday_time_flags(command, *flags);
  add_journal_flags(command, *flags);
  command
      .add_option("--log-level", flags->log_level,
                  "The lowest level of log messages to write to stderr")
      ->capture_default_str()
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "critical", "off"}));
  command.add_flag("--check-config", flags->check_config,
                   "Print which values the flags, the environment and the file give, and what is "
                   "wrong with them. Start nothing. Exit status 1 if something is wrong");
  next_group("Space");
  add_space_flags(command, flags->space);
  add_limit_flags(command, *flags);
  next_group("Limits on time");
  add_time_limit_flags(command, *flags);
  next_group(threads_and_tuning);
  add_engine_flags(command, flags->engine);
  add_simd_flag(command, flags->engine);
  for (const char* flag : {"--engine", "--devices"}) command.get_option(flag)->group(everyday);
  add_tuning_flags(command, *flags);
  command.footer(
      "The default follows =, and the environment variable that sets the flag follows Env.\n"
      "DURATION is a number and us, ms, s, m, h or d. BYTES is a number of bytes, or a number and\n"
      "KiB, MiB or GiB. The port * of an endpoint, or 0 of --http, stands for any free port.\n"
      "docs/limits.md explains the limits.\n"
      "Examples:\n"
      "  starling serve --space wgs84 --object-ttl 10m\n"
      "  starling serve --tick manual --commands 'tcp://127.0.0.1:*'\n"
      "  starling serve --config starling.toml --check-config");
  keep_written_values(command, flags->written);
  return [flags, &command] {
    check_space_flags(flags->space);
    flags->server.processor.space = flags->space.space;
    if (flags->check_config) return check_config(command, *flags);
    try {
      return serve(*flags);
    } catch (const sim::UsageError& error) {
      throw CLI::ValidationError(error.what());
    }
  };
}

}  // namespace starling::apps
