// SPDX-License-Identifier: Apache-2.0
// Draws requests: see hostile_requests.hpp.
#include "tests/stream/soak/hostile_requests.hpp"

#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "starling/knn/base/clocks.hpp"
#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {

using test::Random;

std::string hostile_stream(const HostilePrincipal& principal) {
  return "hostile" + std::to_string(principal.number);
}

std::uint64_t hostile_object(const HostilePrincipal& principal, std::uint64_t index) {
  return 1'000'000 + principal.number * 10'000 + index;
}

std::string hostile_request(const std::string& stream, Random& random, std::uint64_t session,
                            std::uint64_t& sequence) {
  const protocol::RequestHead plain{.request_id = random.next(), .session = session};
  const auto numbered = [&] {
    protocol::RequestHead head = plain;
    head.sequence = ++sequence;
    return head;
  };
  const std::string own = "hostile" + std::to_string(random.below(200));
  const std::size_t rows = 1 + random.below(2000);
  switch (random.below(12)) {
    case 0: {  // ids that were chosen to collide
      Fixes fixes;
      for (std::size_t row = 0; row < rows; ++row)
        fixes.add(1'000'000 + 351'061 * random.below(20'000), 1, 0, 0);
      return encoded(numbered(), fixes.batch());
    }
    case 1: {
      Fixes fixes;
      for (std::size_t row = 0; row < rows; ++row) {
        const bool is_bad = random.chance(0.5);
        fixes.add(1'000'000 + random.below(100'000),
                  is_bad ? std::numeric_limits<std::int64_t>::max() : wall_now_us(),
                  is_bad ? std::numeric_limits<double>::quiet_NaN() : -1e6 * random.unit(), 1e300);
      }
      return encoded(numbered(), fixes.batch());
    }
    case 2:
      return encoded(numbered(),
                     protocol::PutStream{.name = own, .on = ReportOn::order, .with = {}});
    case 3:
      return encoded(numbered(), protocol::RemoveStream{.name = own});
    case 4: {
      protocol::PutQueries put{.stream = own, .queries = {}};
      for (std::size_t count = 0; count < rows; ++count)
        put.queries.push_back(nearest_to(351'061 * random.below(1000),
                                         static_cast<std::uint32_t>(random.below(2000)),
                                         -1e6 * random.unit(), 0));
      return encoded(numbered(), put);
    }
    case 5:
      return encoded(plain, protocol::GetSnapshot{.stream = stream});
    case 6: {
      protocol::GetNeighbors ask;
      for (int count = 0; count < 20; ++count)
        ask.questions.push_back(nearest_to(0, 1024, -1e6 * random.unit(), 0));
      return encoded(plain, ask);
    }
    case 7:
      return encoded(numbered(), protocol::AdvanceTick{random.between(-1'000'000, 1'000'000)});
    case 8:
      return encoded(plain, protocol::GetStats{});
    case 9:
      return encoded({.request_id = 1, .session = random.next(), .sequence = random.next()},
                     protocol::GetStats{});
    case 10:
      return encoded({}, protocol::Hello{.client = "x\n[error] forged"});
    default: {
      Fixes fixes;
      fixes.add(1, 1, 0, 0);
      std::string bad = encoded(plain, fixes.batch());
      for (int flips = 0; flips < 3; ++flips)
        bad[random.below(bad.size())] = static_cast<char>(random.below(256));
      return bad;
    }
  }
}

namespace {

constexpr std::size_t rows_max = 32'768;  // of the server's --rows-max
constexpr std::uint32_t k_max = 1024;

protocol::RequestHead plain(const HostileSession& session) {
  return {.request_id = 1, .session = session.number};
}

protocol::RequestHead numbered(HostileSession& session) {
  return {.request_id = 1, .session = session.number, .sequence = ++session.sequence};
}

std::string get_stats(const Attacker&, HostileSession& session, Random&) {
  return encoded(plain(session), protocol::GetStats{});
}

std::string get_names(const Attacker& attacker, HostileSession& session, Random&) {
  const std::vector<std::uint64_t> ids(4096, hostile_object(attacker.principal, 0));
  return encoded(plain(session), protocol::GetNames{ids});
}

std::string list_streams(const Attacker&, HostileSession& session, Random&) {
  return encoded(plain(session), protocol::ListStreams{});
}

std::string list_queries(const Attacker& attacker, HostileSession& session, Random&) {
  return encoded(plain(session), protocol::ListQueries{.stream = attacker.stream});
}

std::string get_objects(const Attacker&, HostileSession& session, Random&) {
  return encoded(plain(session),
                 protocol::GetObjects{.rectangle = Rectangle{-1e7, -1e7, 1e7, 1e7}});
}

protocol::GetNeighbors questions(Random& random, std::size_t count) {
  protocol::GetNeighbors ask;
  for (std::size_t at = 0; at < count; ++at)
    ask.questions.push_back(nearest_to(0, k_max, -1e6 * random.unit(), 0));
  return ask;
}

std::string get_neighbors(const Attacker&, HostileSession& session, Random& random) {
  return encoded(plain(session), questions(random, 200));
}

std::string get_past(const Attacker&, HostileSession& session, Random& random) {
  protocol::GetNeighbors ask = questions(random, 1 + random.below(200));
  ask.at_us = wall_now_us() - random.between(0, 30'000'000);
  return encoded(plain(session), ask);
}

std::string begin_snapshot(const Attacker& attacker, HostileSession& session, Random&) {
  return encoded(plain(session), protocol::GetSnapshot{.stream = attacker.stream});
}

std::string every_object(const Attacker& attacker, HostileSession& session, Random& random) {
  const std::string own = hostile_stream(attacker.principal);
  const std::uint64_t id = random.below(2);
  switch (random.below(8)) {
    case 0:
      return encoded(numbered(session),
                     protocol::PutStream{.name = own, .on = ReportOn::distance, .with = {}});
    case 1:
      return encoded(numbered(session), protocol::RemoveQueries{own, {&id, 1}});
    default: {
      protocol::QuerySpec query = nearest_to(id, k_max, 0, 0);
      query.anchor = AnchorKind::every_object;
      return encoded(numbered(session), protocol::PutQueries{own, {query}});
    }
  }
}

std::string largest_update(const Attacker&, HostileSession& session, Random&) {
  static Fixes fixes = [] {
    Fixes rows;
    for (std::size_t row = 0; row < rows_max; ++row)
      rows.add(1'000'000 + row, 0, -static_cast<double>(row), static_cast<double>(row % 512));
    return rows;
  }();
  fixes.times_us.assign(rows_max, wall_now_us());
  return encoded(numbered(session), fixes.batch());
}

std::string update_of_one_row(const Attacker& attacker, HostileSession& session, Random& random) {
  Fixes fixes;
  fixes.add(hostile_object(attacker.principal, random.below(10'000)), wall_now_us(),
            -1e6 * random.unit(), 0);
  return encoded(numbered(session), fixes.batch());
}

std::string tags(const Attacker& attacker, HostileSession& session, Random& random) {
  std::vector<std::uint64_t> ids(1000);
  for (std::uint64_t& id : ids) id = hostile_object(attacker.principal, random.below(10'000));
  const std::vector<std::int64_t> times_us(ids.size(), wall_now_us());
  const std::vector<std::uint32_t> set(ids.size(), static_cast<std::uint32_t>(random.next()));
  const std::vector<std::uint32_t> clear(ids.size(), 0);
  return encoded(numbered(session), protocol::UpdateTags{ids, times_us, set, clear});
}

std::string names(const Attacker& attacker, HostileSession& session, Random& random) {
  std::vector<std::uint64_t> ids(1000);
  std::vector<std::string> texts;
  for (std::uint64_t& id : ids) {
    id = hostile_object(attacker.principal, random.below(10'000));
    texts.push_back(std::to_string(id));
  }
  return encoded(numbered(session), protocol::PutNames{ids, {texts.begin(), texts.end()}});
}

std::string mixed(const Attacker& attacker, HostileSession& session, Random& random) {
  return hostile_request(attacker.stream, random, session.number, session.sequence);
}

}  // namespace

std::vector<HostileRequest> hostile_requests() {
  return {{"GetStats", get_stats, 1000},
          {"GetNames of 4,096", get_names, 200},
          {"ListStreams", list_streams, 1000},
          {"ListQueries", list_queries, 1000},
          {"GetObjects", get_objects, 200},
          {"GetNeighbors, 200 of k 1,024", get_neighbors, 20},
          {"the past", get_past, 20},
          {"snapshots begun", begin_snapshot, 200},
          {"every_object", every_object, 8},
          {"largest updates", largest_update, 1},
          {"updates of one row", update_of_one_row, 64},
          {"tags", tags, 8},
          {"names", names, 8},
          {"mixed requests", mixed, 8},
          {"GetNames, never read", get_names, 200, false},
          {"GetObjects, never read", get_objects, 200, false},
          {"mixed, never read", mixed, 200, false}};
}

}  // namespace starling::stream
