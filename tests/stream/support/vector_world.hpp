// SPDX-License-Identifier: Apache-2.0
// VectorWorld is a server of vectors with random producers. VectorModel computes the answers that
// the server must give. It covers objects, removals, expiry, labels, values, filters, votes and
// means. It makes each list by scoring and sorting all objects. It uses declarations of the
// product, but none of its code. vectors_test.cpp uses both classes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tests/stream/support/running_server.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {

/// The lists that a subscriber must hold after a tick.
using VectorLists = std::map<protocol::ListKey, protocol::HeldList>;

/// See the top of this file. The model takes raw vectors, as users send them, and prepares them
/// itself.
class VectorModel {
 public:
  VectorModel(Metric metric, std::int64_t object_ttl_us)
      : metric_(metric), object_ttl_us_(object_ttl_us) {}

  /// An object of an update. If `label` or `value` is std::nullopt, the object keeps what it has.
  struct Row {
    std::uint64_t id = 0;
    std::int64_t time_us = 0;
    std::vector<float> vector;
    std::uint32_t tags = 0;
    std::optional<Label> label;
    std::optional<double> value;
  };

  void update(const Row& row);
  void remove(std::uint64_t id, std::int64_t time_us);
  void put(const protocol::QuerySpec& query) { queries_[to_number(query.id)] = query; }
  void remove_query(std::uint64_t id) { queries_.erase(id); }
  void tick(std::int64_t tau_us);

  const VectorLists& lists() const { return lists_; }
  /// Returns the answer to a one-shot query about the last tick.
  protocol::HeldList answer(const protocol::QuerySpec& question) const;

 private:
  struct Object {
    std::int64_t time_us = 0;
    bool alive = false;
    std::vector<float> prepared;
    std::uint32_t tags = 0;
    Label label = no_label;
    double value = no_value;
  };
  using Objects = std::map<std::uint64_t, Object>;

  protocol::HeldList list(const protocol::QuerySpec& query, const std::vector<float>& from,
                          std::optional<std::uint64_t> excluded) const;
  std::vector<float> prepared(const std::vector<float>& raw) const;
  double distance(const std::vector<float>& x, const std::vector<float>& y) const;

  Metric metric_;
  std::int64_t object_ttl_us_;
  Objects objects_;
  Objects snapshot_;  ///< the objects alive at the last tick
  std::int64_t tau_us_ = 0;
  std::map<std::uint64_t, protocol::QuerySpec> queries_;
  VectorLists lists_;
};

/// The server, its producers, and a model that gets the same data as the server.
class VectorWorld {
 public:
  VectorWorld(const SpaceOptions& space, test::Random& random);

  const RunningServer& server() const { return server_; }
  protocol::Client& client() { return client_; }
  const VectorModel& model() const { return model_; }
  /// Sends random changes to the server and the model, then advances both by one tick.
  void go_on();
  std::int64_t now_us() const { return tau_us_; }
  const VectorLists& lists_at(std::int64_t tau_us) const { return history_.at(tau_us); }
  /// Returns random one-shot queries. Each has a vector or an object as its anchor. Some ask for a
  /// vote or a mean.
  std::vector<protocol::QuerySpec> questions();

 private:
  protocol::QuerySpec random_query(std::uint64_t id);
  std::vector<float> random_vector();
  void put(const protocol::QuerySpec& query);
  void send_batch(protocol::Client& producer, std::uint64_t first_id);
  void remove_some();

  test::Random& random_;
  SpaceOptions space_;
  RunningServer server_;
  protocol::Client client_;
  std::vector<protocol::Client> producers_;
  VectorModel model_;
  std::int64_t tau_us_ = 0;
  std::map<std::int64_t, VectorLists> history_{{0, {}}};
};

}  // namespace starling::stream
