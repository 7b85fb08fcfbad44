// SPDX-License-Identifier: Apache-2.0
// Adds the flags of `starling put`, `put stream` and `put query`: see put.hpp.
#include "starling/apps/put/put.hpp"

#include <memory>

#include <CLI/CLI.hpp>

#include "starling/apps/put/put_objects.hpp"
#include "starling/apps/put/put_query.hpp"
#include "starling/apps/shared/duration_flag.hpp"

namespace starling::apps {
namespace {

constexpr const char* json_help = "Print one JSON object";

void add_object_flags(CLI::App& command, PutObjectsFlags& flags) {
  command.add_option("file", flags.files,
                     "CSV files with a header, or files with one JSON object on each line; they "
                     "may end in .gz or .zst. Without a file and without --id, or for -, the "
                     "standard input. Columns or keys: id; lon and lat, or x and y; and, if there "
                     "are any, alt or z, time (as --time) or time_us, tags, name");
  command.add_option("--id", flags.id,
                     "Put one object with this id: a number, or any text of up to 255 bytes");
  add_place_flags(command, flags.place);
  command.add_option("--time", flags.time,
                     "When the object was there: 2022-01-03T00:10:00Z, or a number in --time-unit "
                     "since 1970. Without this flag, now");
  command.add_option("--tags", flags.tags,
                     "The tag bits of the object as one number: bits 0 and 2 are 5. Without this "
                     "flag they stay as they are");
  command.add_option("--name", flags.name,
                     "If --id is the hash of a text, this text. The id of a text needs no name");
  command.add_option("--format", flags.format, "The format of the files")
      ->check(CLI::IsMember({"auto", "csv", "ndjson"}))
      ->capture_default_str();
  command
      .add_option("--time-unit", flags.time_unit,
                  "The unit of times that are numbers. auto goes by the magnitude: below 1e11 they "
                  "are seconds, below 1e14 milliseconds, below 1e17 microseconds, else nanoseconds")
      ->check(CLI::IsMember({"auto", "s", "ms", "us", "ns"}))
      ->capture_default_str();
  command
      .add_option("--date-order", flags.date_order,
                  "The order of day and month in dates such as 31/12/2022. Without this flag, such "
                  "rows are skipped")
      ->check(CLI::IsMember({"day-first", "month-first"}));
  command.add_flag("--no-wait", flags.no_wait,
                   "Do not wait until a tick has taken the rows, after which `ask` sees them");
  command.add_flag("--json", flags.json, json_help);
  add_server_flags(command, flags.server);
  command.footer(
      "Examples:\n"
      "  starling put --id truck-7 --lon 10.75 --lat 59.91\n"
      "  printf 'id,x,y\\ntruck-7,0,0\\ntruck-8,30,40\\n' | starling put\n"
      "  tail -f positions.ndjson | starling put --json\n"
      "`starling remove` removes objects and queries. Exit status: 0 done, 1 if a row was "
      "rejected\n"
      "or the server failed, 2 wrong usage.");
}

void add_stream_flags(CLI::App& command, PutStreamFlags& flags) {
  command.add_option("name", flags.name, "The name of the stream")->required();
  command.add_option("--on", flags.on, "Which change of a list the stream reports")
      ->check(CLI::IsMember({"membership", "order", "distance"}))
      ->capture_default_str();
  command
      .add_option("--with-distance", flags.with_distance,
                  "Whether a reported list has the distances. On a stream of `order`, distances "
                  "are those of the last change of order")
      ->check(CLI::IsMember({"true", "false"}))
      ->capture_default_str();
  command.add_flag("--with-position", flags.with_position, "Reported lists have positions");
  command.add_flag("--with-tags", flags.with_tags, "Reported lists have tags");
  command.add_flag("--json", flags.json, json_help);
  add_server_flags(command, flags.server);
  command.footer(
      "Examples:\n"
      "  starling put stream ships\n"
      "  starling put stream riders --on membership\n"
      "  starling put stream radar --on distance --with-position\n"
      "A stream that exists keeps its queries and takes the new settings.");
}

void add_query_flags(CLI::App& command, PutQueryFlags& flags) {
  command.add_option("stream", flags.stream, "The stream to which the query reports")->required();
  command.add_option("id", flags.id, "The id of the query: a number or a text")->required();
  add_place_flags(command, flags.place);
  command.add_option("--follow", flags.follow, "Follow the object with this id")->type_name("ID");
  command.add_flag("--every-object", flags.every_object, "Keep a list for each object");
  add_filter_flags(command, flags.filter);
  command.add_option("--subject-required", flags.subject.required,
                     "For --every-object: only objects with all of these tag bits have a list");
  command.add_option("--subject-forbidden", flags.subject.forbidden,
                     "For --every-object: objects with one of these tag bits have no list");
  command
      .add_option("--lease", flags.lease,
                  "Remove the query after this long, unless it is put again. Without this flag it "
                  "stays")
      ->check(is_duration_from(1000))
      ->type_name("DURATION");
  command.add_flag("--json", flags.json, json_help);
  add_server_flags(command, flags.server);
  command.footer(
      "Examples:\n"
      "  starling put query ships harbour -k 5 --lon 10.75 --lat 59.91\n"
      "  starling put query ships near-truck-7 -k 3 --follow truck-7 --distance-max 500\n"
      "  starling put query riders all -k 4 --every-object --tags-required 1 --age-max 30s\n"
      "A query with an id that the stream has is replaced. `starling subscribe STREAM` shows the\n"
      "lists.");
}

}  // namespace

std::function<int()> add_put(CLI::App& program) {
  struct Flags {
    PutObjectsFlags objects;
    PutStreamFlags stream;
    PutQueryFlags query;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App& command =
      *program.add_subcommand("put", "Put objects, a stream or a query into a running server");
  add_object_flags(command, flags->objects);
  CLI::App& stream = *command.add_subcommand("stream", "Make a stream, or change its settings");
  add_stream_flags(stream, flags->stream);
  CLI::App& query = *command.add_subcommand("query", "Put a standing query into a stream");
  add_query_flags(query, flags->query);
  command.require_subcommand(0, 1);
  return [flags, &stream, &query] {
    PutObjectsFlags& objects = flags->objects;
    const bool has_object = !objects.id.empty() || objects.place.is_given() ||
                            !objects.files.empty() || !objects.time.empty() || objects.tags ||
                            !objects.name.empty();
    if ((stream.parsed() || query.parsed()) && has_object)
      throw CLI::ValidationError(
          "put", "the flags of a stream or a query follow `put stream` or `put query`");
    if (stream.parsed()) {
      inherit_server_flags(stream, flags->stream.server, objects.server);
      flags->stream.json = flags->stream.json || objects.json;
      return put_stream(flags->stream);
    }
    if (query.parsed()) {
      inherit_server_flags(query, flags->query.server, objects.server);
      flags->query.json = flags->query.json || objects.json;
      return put_query(flags->query);
    }
    return put_objects(objects);
  };
}

}  // namespace starling::apps
