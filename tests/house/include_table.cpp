// SPDX-License-Identifier: Apache-2.0
// Defines the table of rooms, and checks #include lines against it: see include_table.hpp.
#include "tests/house/include_table.hpp"

#include <algorithm>
#include <regex>

namespace starling::house {
namespace {

const Room* find_room(std::string_view name) {
  const auto room = std::ranges::find(house_rooms(), name, &Room::name);
  return room == house_rooms().end() ? nullptr : &*room;
}

bool is_house_folder(std::string_view folder) {
  return std::ranges::any_of(house_rooms(), [&](const Room& room) {
    return std::string_view(room.name).substr(0, room.name.find('/')) == folder;
  });
}

// Returns true if the header belongs to the standard library. Such headers have neither a folder
// nor an extension.
bool is_standard_header(const std::string& header) {
  static const std::regex name("[a-z_0-9]+");
  return std::regex_match(header, name);
}

}  // namespace

const std::vector<Room>& house_rooms() {
  // docs/ARCHITECTURE.md describes the same rooms.
  static const std::vector<Room> rooms{
      {"knn/base", {}},
      {"knn/words", {"knn/base"}},
      {"knn/engine", {"knn/base", "knn/words"}},
      {"knn/tables", {"knn/base", "knn/words", "knn/engine"}},
      {"knn/vectors", {"knn/base", "knn/words"}},
      {"knn/vectors/ticks", {"knn/base", "knn/words", "knn/engine", "knn/vectors"}},
      {"cpu/simd", {}},
      {"cpu/points/index", {"knn/base", "knn/words", "knn/engine", "cpu/simd"}},
      {"cpu/points/search", {"knn/base", "knn/words", "cpu/simd", "cpu/points/index"}},
      {"cpu/points",
       {"knn/base", "knn/words", "knn/engine", "cpu/simd", "cpu/points/index",
        "cpu/points/search"}},
      {"cpu/vectors/tree", {"knn/base", "knn/words", "knn/vectors"}},
      {"cpu/vectors/lanes", {"knn/words"}},
      {"cpu/vectors",
       {"knn/base", "knn/words", "knn/vectors", "cpu/simd", "cpu/vectors/tree",
        "cpu/vectors/lanes"}},
      {"cpu",
       {"knn/words", "knn/engine", "knn/vectors", "knn/vectors/ticks", "cpu/points",
        "cpu/vectors"}},
      {"gpu/device", {}},
      {"gpu/points/objects", {"knn/base", "knn/engine", "gpu/device"}},
      {"gpu/points/index", {"knn/words", "gpu/device", "gpu/points/objects"}},
      {"gpu/points/filters",
       {"knn/engine", "knn/words", "gpu/device", "gpu/points/objects", "gpu/points/index"}},
      {"gpu/points/search", {"knn/words", "gpu/device", "gpu/points/objects", "gpu/points/index"}},
      {"gpu/points/lists",
       {"knn/engine", "gpu/device", "gpu/points/objects", "gpu/points/index", "gpu/points/search"}},
      {"gpu/points",
       {"knn/base", "knn/words", "knn/engine", "gpu/device", "gpu/points/objects",
        "gpu/points/index", "gpu/points/filters", "gpu/points/search", "gpu/points/lists"}},
      {"gpu/vectors/corpus", {"knn/base", "knn/words", "gpu/device"}},
      {"gpu/vectors/exchange", {"knn/words", "gpu/device", "gpu/vectors/corpus"}},
      {"gpu/vectors/scan", {"gpu/device", "gpu/vectors/corpus"}},
      {"gpu/vectors/methods",
       {"knn/base", "knn/words", "gpu/device", "gpu/vectors/corpus", "gpu/vectors/scan"}},
      {"gpu/vectors/methods/komarov_2014",
       {"knn/words", "gpu/device", "gpu/vectors/corpus", "gpu/vectors/scan",
        "gpu/vectors/methods"}},
      {"gpu/vectors",
       {"knn/base", "knn/vectors", "gpu/device", "gpu/vectors/corpus", "gpu/vectors/exchange",
        "gpu/vectors/scan", "gpu/vectors/methods", "gpu/vectors/methods/komarov_2014"}},
      {"gpu",
       {"knn/words", "knn/engine", "knn/vectors", "knn/vectors/ticks", "gpu/device", "gpu/points",
        "gpu/vectors"}},
      {"gpu/plugin",
       {"knn/engine", "knn/vectors", "gpu", "gpu/device", "gpu/vectors", "gpu/vectors/exchange"}},
      {"gpu/vectors/methods/cordeiro_2023",
       {"gpu/device", "gpu/vectors/corpus", "gpu/vectors/methods"}},
      {"gpu/vectors/methods/kato_2009",
       {"gpu/device", "gpu/vectors/corpus", "gpu/vectors/methods"}},
      {"gpu/vectors/methods/liang_2010",
       {"gpu/device", "gpu/vectors/corpus", "gpu/vectors/methods"}},
      {"gpu/vectors/methods/russica_2023",
       {"gpu/device", "gpu/vectors/corpus", "gpu/vectors/methods"}},
      {"log", {"knn/base"}},
      {"protocol/wire", {"knn/base", "knn/words"}},
      {"protocol/keys", {"knn/base"}},
      {"protocol/client", {"knn/base", "knn/words", "protocol/wire", "protocol/keys"}},
      {"protocol/rows", {"knn/base", "knn/words", "knn/engine", "knn/tables", "protocol/wire"}},
      {"stream/pools", {"knn/base"}},
      {"stream/turns", {"knn/base"}},
      {"stream/zmtp", {"knn/base", "stream/turns"}},
      {"stream/state",
       {"knn/base", "knn/words", "knn/engine", "protocol/wire", "stream/turns", "stream/zmtp"}},
      {"stream/sockets",
       {"knn/base", "protocol/wire", "stream/turns", "stream/zmtp", "stream/state"}},
      {"stream/json", {"knn/base", "protocol/wire"}},
      {"stream/access",
       {"knn/base", "protocol/wire", "protocol/keys", "protocol/rows", "stream/zmtp",
        "stream/state"}},
      {"stream/http",
       {"knn/base", "knn/words", "protocol/wire", "stream/turns", "stream/zmtp", "stream/state",
        "stream/sockets", "stream/json", "stream/access"}},
      {"stream/events",
       {"knn/base", "knn/words", "protocol/wire", "stream/pools", "stream/turns", "stream/sockets",
        "stream/http"}},
      {"stream/websocket",
       {"knn/base", "knn/words", "knn/engine", "knn/tables", "protocol/wire", "stream/pools",
        "stream/zmtp", "stream/state", "stream/sockets", "stream/http"}},
      {"stream/tls", {"knn/base"}},
      {"stream/journal",
       {"knn/base", "knn/words", "knn/engine", "knn/tables", "log", "protocol/wire",
        "protocol/rows", "stream/pools", "stream/state"}},
      {"stream/operation",
       {"knn/base", "knn/words", "knn/engine", "knn/tables", "protocol/wire", "protocol/rows",
        "stream/zmtp", "stream/state", "stream/sockets", "stream/access", "stream/http",
        "stream/events", "stream/websocket", "stream/tls", "stream/journal"}},
      {"stream/tables",
       {"knn/base", "knn/engine", "knn/tables", "protocol/rows", "stream/pools", "stream/state"}},
      {"stream/publishing",
       {"knn/base", "knn/words", "knn/engine", "knn/tables", "log", "protocol/wire",
        "protocol/rows", "stream/pools", "stream/state", "stream/sockets", "stream/journal",
        "stream/operation", "stream/tables"}},
      {"stream/recovery",
       {"knn/base", "knn/engine", "knn/tables", "log", "protocol/wire", "stream/pools",
        "stream/state", "stream/access", "stream/journal", "stream/publishing"}},
      {"stream/callers",
       {"knn/base", "knn/words", "knn/engine", "knn/tables", "log", "protocol/wire", "stream/pools",
        "stream/state", "stream/access", "stream/journal", "stream/operation", "stream/tables"}},
      {"stream/requests",
       {"knn/base", "knn/engine", "protocol/wire", "protocol/rows", "stream/pools", "stream/turns",
        "stream/state", "stream/sockets", "stream/access", "stream/operation", "stream/tables",
        "stream/publishing", "stream/recovery", "stream/callers"}},
      {"stream", {"knn/base",         "knn/engine",        "knn/tables",      "protocol/wire",
                  "stream/pools",     "stream/turns",      "stream/zmtp",     "stream/state",
                  "stream/sockets",   "stream/access",     "stream/http",     "stream/events",
                  "stream/websocket", "stream/tls",        "stream/journal",  "stream/operation",
                  "stream/tables",    "stream/publishing", "stream/recovery", "stream/requests"}},
      {"sim/data/files", {"knn/base"}},
      {"sim/city/roads", {"knn/base", "sim/data/files"}},
      {"sim/data/traces", {"knn/base", "knn/words", "protocol/wire", "sim/data/files"}},
      {"sim/host",
       {"knn/base", "knn/words", "knn/engine", "knn/tables", "protocol/wire", "protocol/client",
        "sim/data/files", "sim/data/traces"}},
      {"sim/city", {"knn/base", "sim/data/files", "sim/city/roads", "sim/host"}},
      {"sim/city/report", {"knn/base", "sim/data/files", "sim/city/roads", "sim/city"}},
      {"sim/replay",
       {"knn/base", "knn/words", "protocol/wire", "protocol/client", "sim/data/files",
        "sim/data/traces", "sim/host"}},
      {"sim/data/vectors", {"knn/words", "knn/vectors", "sim/data/files"}},
      {"bench", {}},
      {"bench/ticks", {"knn/base", "knn/words", "knn/engine", "knn/tables", "bench"}},
      {"bench/vectors",
       {"knn/base", "knn/words", "knn/engine", "knn/tables", "knn/vectors", "bench"}},
      {"bench/server",
       {"knn/base", "knn/words", "protocol/keys", "protocol/wire", "protocol/client", "bench",
        "bench/ticks", "bench/vectors"}},
      {"apps/shared",
       {"knn/base", "knn/words", "knn/engine", "knn/tables", "knn/vectors", "cpu", "gpu/vectors",
        "gpu", "gpu/plugin", "sim/data/files", "sim/city/roads", "sim/data/traces", "sim/host"}},
      {"apps/shared/process", {}},
      {"apps/shared/text", {"knn/base"}},
      {"apps/shared/server",
       {"knn/base", "knn/words", "protocol/keys", "protocol/wire", "protocol/client",
        "sim/data/files", "sim/data/traces", "apps/shared"}},
      {"apps/ask",
       {"knn/base", "knn/words", "log", "protocol/wire", "protocol/client", "protocol/rows",
        "stream/recovery", "sim/data/files", "sim/data/traces", "sim/replay", "apps/shared",
        "apps/shared/server", "apps/shared/text"}},
      {"apps/documents", {}},
      {"apps/put",
       {"knn/base", "knn/words", "protocol/wire", "protocol/client", "sim/data/files",
        "apps/shared", "apps/shared/server", "apps/shared/process"}},
      {"apps/remove", {"knn/base", "protocol/wire", "sim/data/files", "apps/shared/server"}},
      {"apps/knn",
       {"knn/words", "knn/vectors", "sim/data/files", "sim/data/vectors", "apps/shared",
        "apps/shared/process"}},
      {"apps/replay",
       {"knn/base", "knn/words", "knn/tables", "log", "protocol/wire", "protocol/client",
        "stream/recovery", "sim/data/files", "sim/data/traces", "sim/host", "sim/replay",
        "apps/shared", "apps/shared/server", "apps/shared/process", "apps/shared/text"}},
      {"apps/simulate",
       {"knn/base", "sim/data/files", "sim/city/roads", "sim/data/traces", "sim/host", "sim/city",
        "sim/city/report", "apps/shared", "apps/shared/server", "apps/shared/process"}},
      {"apps/journal",
       {"knn/base", "knn/words", "log", "stream/journal", "stream/recovery", "sim/data/files",
        "sim/data/traces", "apps/shared", "apps/shared/text"}},
      {"apps/streams", {"knn/words", "apps/shared/server", "apps/shared/text", "knn/base"}},
      {"apps/subscribe",
       {"knn/base", "knn/engine", "protocol/wire", "protocol/client", "sim/data/files",
        "sim/data/traces", "sim/replay", "apps/shared", "apps/shared/server", "apps/shared/text",
        "apps/shared/process"}},
      {"apps/top",
       {"knn/base", "knn/words", "protocol/client", "sim/data/files", "apps/shared",
        "apps/shared/server", "apps/shared/text", "apps/shared/process"}},
      {"apps/view",
       {"knn/tables", "knn/words", "log", "stream", "stream/http", "stream/operation",
        "stream/recovery", "sim/data/files", "sim/host", "sim/replay", "sim/data/traces",
        "apps/shared", "apps/shared/process", "apps/shared/text"}},
      {"apps", {"knn/base",           "protocol/wire",    "protocol/client",
                "stream/sockets",     "stream",           "stream/access",
                "stream/operation",   "sim/data/files",   "sim/data/traces",
                "bench/ticks",        "bench/vectors",    "bench/server",
                "apps/shared",        "apps/shared/text", "apps/ask",
                "apps/documents",     "apps/journal",     "apps/knn",
                "apps/put",           "apps/remove",      "apps/replay",
                "apps/simulate",      "apps/streams",     "apps/subscribe",
                "apps/top",           "apps/view",        "apps/shared/process",
                "apps/shared/server", "protocol/keys",    "stream/tls"}},
      {"clients/c",
       {"knn/base", "knn/words", "knn/engine", "knn/tables", "knn/vectors", "cpu", "gpu/plugin",
        "protocol/keys", "protocol/wire", "protocol/rows", "protocol/client"}},
      {"clients/cpp", {}},
      {"clients/cpp/starling", {"clients/cpp"}},
  };
  return rooms;
}

std::optional<std::string> include_violation(std::string_view room, std::string_view line) {
  static const std::regex include(R"re(^\s*#\s*include\s*(["<])([^">]+)[">].*)re");
  std::cmatch match;
  if (!std::regex_match(line.data(), line.data() + line.size(), match, include)) return {};
  const bool angled = match[1].str() == "<";
  const std::string header = match[2].str();
  const std::string from(room);

  constexpr std::string_view root = "starling/";
  if (header.starts_with(root)) {
    if (angled) return from + " includes <" + header + ">; the house's own headers take quotes";
    const std::string path = header.substr(root.size());
    const std::string target = path.substr(0, path.rfind('/'));
    if (target == room) return {};
    const Room* const known = find_room(room);
    if (known == nullptr) return from + " is no room of the table in include_table.cpp";
    if (std::ranges::find(known->may_include, target) != known->may_include.end()) return {};
    return from + " must not include " + header + ": no arrow goes from " + from + " to " + target;
  }
  const std::string folder = header.substr(0, header.find('/'));
  if (!angled && (folder == header || is_house_folder(folder)))
    return from + " includes \"" + header + "\"; write it as \"starling/room/file.hpp\"";
  // These headers declare the POSIX calls that bind a thread to a core, map memory and close a
  // file.
  const bool is_system_call =
      room == "knn/base" &&
      (header == "pthread.h" || header == "sched.h" || header == "sys/mman.h" ||
       header == "sys/resource.h" || header == "unistd.h");
  if (room.starts_with("knn/") && !(angled && (is_standard_header(header) || is_system_call)))
    return "knn must not include " + header + ": it stands on the standard library alone";
  return {};
}

}  // namespace starling::house
