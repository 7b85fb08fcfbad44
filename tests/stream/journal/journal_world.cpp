// SPDX-License-Identifier: Apache-2.0
// Draws the steps of a script, and holds the disk that servers share: see journal_world.hpp.
#include "tests/stream/journal/journal_world.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include "starling/log/snapshot.hpp"
#include "starling/log/system_files.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "starling/protocol/wire/zmq_frames.hpp"
#include "starling/stream/recovery/make_snapshot.hpp"
#include "tests/stream/support/published_bytes.hpp"

namespace starling::stream {
namespace {

constexpr std::uint64_t script_objects = 60;

/// A disk that outlives the servers that use it.
class SharedFiles final : public log::Files {
 public:
  explicit SharedFiles(std::shared_ptr<TestDisk> disk)
      : disk_(std::move(disk)), files_(&disk_->files) {}
  std::vector<std::string> list() const override { return files_->list(); }
  std::unique_ptr<log::File> open(std::string_view name) override { return files_->open(name); }
  std::unique_ptr<log::File> create(std::string_view name, std::uint64_t bytes) override {
    if (disk_->is_full) throw log::NoSpace("the test's disk is full");
    return files_->create(name, bytes);
  }
  void rename(std::string_view from, std::string_view to) override { files_->rename(from, to); }
  void remove(std::string_view name) override { files_->remove(name); }
  std::string birth_of(std::string_view name) const override { return files_->birth_of(name); }
  void sync_folder() override { files_->sync_folder(); }
  std::uint64_t free_bytes() const override { return files_->free_bytes(); }

 private:
  std::shared_ptr<TestDisk> disk_;
  log::SimulatedFiles* files_;
};

std::string text_of_reply(const protocol::Result<protocol::BatchReply>& reply) {
  if (!reply) return "refused: " + reply.problem().sentence;
  std::string text = std::to_string(reply->accepted) + " accepted, " + std::to_string(reply->late) +
                     " late, " + std::to_string(reply->rejected) + " rejected";
  for (const auto& each : reply->reasons)
    text += ", " + std::to_string(each.count) + " " + std::string(to_string(each.reason));
  return text;
}

template <class Value>
std::string text_of_done(const protocol::Result<Value>& reply) {
  return reply ? "done" : "refused: " + reply.problem().sentence;
}

}  // namespace

JournalFolder::JournalFolder() {
  std::string path = std::filesystem::temp_directory_path() / "starling-journal-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = path;
}

std::vector<std::filesystem::path> JournalFolder::files() const {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    if (entry.path().extension() == ".log") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::unique_ptr<Engine> engine_for(const SpaceOptions& space) {
  return make_engine(space);
}

ServerOptions journal_options(const std::string& folder) {
  ServerOptions options = manual_options();
  options.processor.objects.objects_max = 1u << 12;
  options.journal.folder = folder;
  options.journal.segment_bytes = std::uint64_t{1} << 16;
  return options;
}

ServerOptions journal_options(const std::shared_ptr<TestDisk>& disk) {
  ServerOptions options = journal_options("simulated");
  options.journal.segment_bytes = 4096;
  options.journal.begin_bytes = 300;
  options.journal.open = [disk](const std::string&, log::FolderUse) {
    return std::make_unique<SharedFiles>(disk);
  };
  return options;
}

JournalScript::JournalScript(std::uint64_t seed, std::optional<std::string> folder,
                             Snapshots snapshots)
    : snapshots_(snapshots),
      options_(folder ? journal_options(*folder) : manual_options()),
      random_(seed) {
  options_.processor.objects.tombstone_ttl_us = 5000;
  options_.processor.objects.object_ttl_us = 20'000;
  options_.processor.queries.neighbors_max = 3000;
  if (snapshots == Snapshots::beside_server) {
    options_.journal.make_engine = engine_for;
    options_.journal.tail_bytes_max = 2000;
  }
  start();
  options_.commands_endpoint = server_->endpoints().commands;
  options_.results_endpoint = server_->endpoints().results;
  client_ = std::make_unique<protocol::Client>(
      context_,
      protocol::ClientOptions{
          .commands = options_.commands_endpoint, .name = "script", .reconnect_after_ms = 300});
  epoch_ = client_->epoch();
  subscribe();
}

JournalScript::~JournalScript() = default;

void JournalScript::start() {
  server_ = std::make_unique<RunningServer>(options_);
}

void JournalScript::subscribe() {
  results_ = std::make_unique<zmq::socket_t>(context_, zmq::socket_type::sub);
  results_->set(zmq::sockopt::rcvhwm, 0);
  results_->set(zmq::sockopt::linger, 0);
  results_->set(zmq::sockopt::rcvtimeo, static_cast<int>(1000 * patience.count()));
  results_->set(zmq::sockopt::subscribe, "");
  results_->connect(options_.results_endpoint);
  if (!happens([&] { return server_->stat("starling_subscriptions") > 0; }))
    throw std::runtime_error("the subscription has not arrived");
}

void JournalScript::restart() {
  server_.reset();
  look_at_snapshots();
  start();
  subscribe();
  ++restarts_;
}

void JournalScript::look_at_snapshots() {
  const auto files = log::open_folder(options_.journal.folder, log::FolderUse::write);
  if (snapshots_ == Snapshots::between_two_servers)
    make_snapshot({.files = *files, .make_engine = engine_for});
  for (const std::string& name : log::snapshot_names(*files)) snapshot_names_.insert(name);
}

std::vector<std::string> JournalScript::run(int steps, int restart_every) {
  for (int i = 1; i <= steps; ++i) {
    step();
    if (restart_every > 0 && i % restart_every == 0) restart();
  }
  tick();
  tell_state();
  EXPECT_EQ(client_->get_neighbors({{nearest_to(0, 1, 0, 0)}}).value().epoch, epoch_);
  return std::move(said_);
}

void JournalScript::step() {
  const std::uint64_t kind = random_.below(20);
  if (kind < 5) return update_objects();
  if (kind < 7) return change_tags();
  if (kind < 8) return remove_objects();
  if (kind < 9) return put_names();
  if (kind < 11) return put_stream();
  if (kind < 12) return remove_stream();
  if (kind < 14) return put_queries();
  if (kind < 15) return remove_queries();
  tick();
}

double JournalScript::place() {
  return static_cast<double>(random_.below(10'000)) / 100 - 50;
}

std::string JournalScript::any_stream() {
  return "stream " + std::to_string(random_.below(4));
}

void JournalScript::update_objects() {
  Fixes fixes;
  std::vector<std::uint32_t> tags;
  for (std::uint64_t i = random_.below(30); i > 0; --i) {
    fixes.add(random_.below(script_objects),
              tau_us_ - static_cast<std::int64_t>(random_.below(3000)),
              random_.chance(0.05) ? 1e300 : place(), place());
    tags.push_back(static_cast<std::uint32_t>(random_.below(4)));
  }
  protocol::UpdateBatch batch = fixes.batch();
  if (random_.chance(0.5)) batch.tags = tags;
  said_.push_back(text_of_reply(client_->update(batch)));
}

void JournalScript::change_tags() {
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> times_us;
  std::vector<std::uint32_t> set;
  std::vector<std::uint32_t> clear;
  for (std::uint64_t i = random_.below(10); i > 0; --i) {
    ids.push_back(random_.below(script_objects));
    times_us.push_back(tau_us_ - static_cast<std::int64_t>(random_.below(3000)));
    set.push_back(static_cast<std::uint32_t>(random_.below(4)));
    clear.push_back(static_cast<std::uint32_t>(random_.below(4)));
  }
  said_.push_back(text_of_reply(
      client_->update_tags({.ids = ids, .times_us = times_us, .set = set, .clear = clear})));
}

void JournalScript::remove_objects() {
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> times_us;
  for (std::uint64_t i = random_.below(8); i > 0; --i) {
    ids.push_back(random_.below(script_objects));
    times_us.push_back(tau_us_ - static_cast<std::int64_t>(random_.below(3000)));
  }
  said_.push_back(text_of_reply(client_->remove_objects({.ids = ids, .times_us = times_us})));
}

void JournalScript::put_names() {
  const std::string text = std::to_string(random_.below(script_objects));
  const std::uint64_t id = random_.chance(0.5) ? std::stoull(text) : random_.below(script_objects);
  said_.push_back(text_of_reply(client_->put_names({.ids = {&id, 1}, .texts = {text}})));
}

void JournalScript::put_stream() {
  const std::string name = any_stream();
  const auto reply = client_->put_stream({.name = name,
                                          .on = static_cast<ReportOn>(random_.below(3)),
                                          .with = {.distance = random_.chance(0.8),
                                                   .position = random_.chance(0.3),
                                                   .tags = random_.chance(0.3)}});
  if (reply) live_.insert(name);
  said_.push_back("put " + name + ": " + text_of_done(reply));
}

void JournalScript::remove_stream() {
  const std::string name = any_stream();
  const auto reply = client_->remove_stream(name);
  if (reply && live_.erase(name) > 0) removed_.insert(name);
  said_.push_back("remove " + name + ": " + text_of_done(reply));
}

void JournalScript::put_queries() {
  std::vector<protocol::QuerySpec> queries;
  for (std::uint64_t i = 1 + random_.below(5); i > 0; --i) {
    protocol::QuerySpec query = nearest_to(
        random_.below(12), 1 + static_cast<std::uint32_t>(random_.below(9)), place(), place());
    if (random_.chance(0.3)) {
      query.anchor = AnchorKind::follow;
      query.object = ObjectId{random_.below(script_objects)};
    } else if (random_.chance(0.15)) {
      query.anchor = AnchorKind::every_object;
    }
    if (random_.chance(0.3)) query.tags.required = 2;
    if (random_.chance(0.4)) query.lease_ms = 1 + random_.below(6);
    queries.push_back(query);
  }
  said_.push_back(text_of_reply(client_->put_queries({any_stream(), queries})));
}

void JournalScript::remove_queries() {
  const std::vector<std::uint64_t> ids{random_.below(12), random_.below(12)};
  said_.push_back(text_of_reply(client_->remove_queries({any_stream(), ids})));
}

void JournalScript::tick() {
  tau_us_ += static_cast<std::int64_t>(random_.below(2000));
  const auto done = client_->advance_tick(tau_us_);
  said_.push_back(done ? "tick " + std::to_string(to_number(done->tick)) + " has " +
                             std::to_string(done->list_count) + " lists, " +
                             std::to_string(done->removal_count) + " removals, " +
                             std::to_string(done->object_count) + " objects"
                       : done.problem().sentence);
  std::set<std::string> heard = live_;
  heard.merge(std::exchange(removed_, {}));
  receive_messages(heard.size());
}

void JournalScript::receive_messages(std::size_t count) {
  for (; count > 0; --count) {
    std::vector<zmq::message_t> parts;
    do {
      parts.emplace_back();
      if (!results_->recv(parts.back())) throw std::runtime_error("a message does not come");
    } while (parts.back().more());
    std::string text = parts[0].to_string();
    std::vector<protocol::AlignedBytes> frames;
    for (std::size_t i = 1; i < parts.size(); ++i)
      frames.emplace_back(
          std::span(static_cast<const std::byte*>(parts[i].data()), parts[i].size()));
    const protocol::DecodedTick decoded = protocol::decode_tick(frames);
    if (decoded.problem) throw std::runtime_error(decoded.problem->sentence);
    EXPECT_EQ(decoded.header.epoch, epoch_) << "subscribers see a restart";
    text += text_of(decoded.header);
    for (std::size_t i = 2; i < parts.size(); ++i) text += ' ' + parts[i].to_string();
    said_.push_back(std::move(text));
  }
}

void JournalScript::tell_state() {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = 0; id < script_objects; ++id) ids.push_back(id);
  const protocol::ObjectAnswers found = client_->objects(ids).value();
  for (const auto& object : found.objects)
    said_.push_back("object " + std::to_string(to_number(object.id)) + " at " +
                    std::to_string(object.time_us) + " " + std::to_string(object.position[0]) +
                    " " + std::to_string(object.position[1]) + " tags " +
                    std::to_string(object.tags) + " " + object.name);
  for (const auto& stream : client_->streams().value()) {
    said_.push_back(stream.name + " " + std::to_string(static_cast<int>(stream.on)) + " " +
                    std::to_string(stream.query_count) + " " + std::to_string(stream.sequence));
    auto queries = client_->queries(stream.name).value();
    std::ranges::sort(queries, {}, [](const auto& query) { return query.id; });
    for (const auto& query : queries)
      said_.push_back("query " + std::to_string(to_number(query.id)) + " k " +
                      std::to_string(query.k) + " lease " + std::to_string(query.lease_ms));
  }
  const protocol::NeighborAnswers nearest =
      client_->get_neighbors({{nearest_to(0, 50, 0, 0)}}).value();
  for (const auto& neighbor : nearest.lists[0].neighbors)
    said_.push_back(std::to_string(to_number(neighbor.object)) + " " +
                    std::to_string(neighbor.distance_m));
}

}  // namespace starling::stream
