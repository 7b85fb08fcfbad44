// SPDX-License-Identifier: Apache-2.0
// The places of one kind of connections, shared fairly between their holders. One holder may have
// all places while no other holder wants any. When all places are taken, a newcomer takes a place
// from the holder that has the most, if it has fewer itself even then. A holder with few places
// therefore never loses one to a holder with many, and two holders cannot take a place from each
// other in turns. Listener, HttpServer, EventHub and SocketHub have Places.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "starling/stream/turns/request_owner.hpp"

namespace starling::stream {

/// Returns the most places that one holder with this principal may have; std::nullopt: all.
using PlaceQuota = std::function<std::optional<std::uint64_t>(zmtp::PrincipalId)>;

struct PlacesOptions {
  std::size_t places_max = 0;
  PlaceQuota quota{};  ///< empty: a holder may have all places
  /// Whether each place is held only for a moment, as those of handshakes are. Then the oldest
  /// connection gives way instead of the newest, and no newcomer is refused: refusals would let a
  /// peer that never finishes keep others out until its time is over.
  bool are_brief = false;
};

/// Returns the options for places of connections whose handshake is not finished. One address has
/// at most a quarter of them.
PlacesOptions handshake_places(std::size_t handshakes_max);

/// Any thread may call the functions.
class Places {
 public:
  explicit Places(PlacesOptions options) : options_(std::move(options)) {}

  enum class Outcome : std::uint8_t {
    taken,
    quota,  ///< refused: the holder has as many places as its quota allows
    full,   ///< refused: all places are taken, and no other holder has more than its share
  };
  struct Taken {
    Outcome outcome = Outcome::taken;
    std::uint64_t bound = 0;  ///< the quota, or the number of places, that refuses the connection
    /// The connection that has lost its place. The caller must close it.
    std::optional<std::uint64_t> gave_way{};
  };
  /// Takes a place for the connection `number`. Later connections must have larger numbers. If
  /// places are short, the oldest idle connection gives way: of the holder itself, if its quota is
  /// reached, and else of the one that has the most places, among the holder and those with more.
  /// If none of these is idle, the newest connection of the holder that has the most gives way, or
  /// the newcomer is refused.
  Taken take(std::uint64_t number, const RequestOwner& holder, bool is_idle = false);
  /// Returns whether take() would take a place for a connection of this holder.
  bool has_place_for(const RequestOwner& holder) const;
  /// Sets whether the connection is idle, so that it gives way first. Does nothing if it has no
  /// place.
  void set_idle(std::uint64_t number, bool is_idle);
  /// Returns whether the connection still has its place.
  bool has(std::uint64_t number) const;
  /// Does nothing if the connection has no place, for example because it gave way.
  void give_back(std::uint64_t number);

  std::size_t count() const;

  /// How many connections gave way so far, and the holder of the last one.
  struct GaveWay {
    std::uint64_t count = 0;
    RequestOwner last{};
  };
  GaveWay gave_way() const;

 private:
  struct Held {
    std::set<std::uint64_t> all;
    std::set<std::uint64_t> idle;
  };
  using Holders = std::map<RequestOwner, Held>;

  std::uint64_t quota_of(const RequestOwner& holder) const;
  bool is_within_quota(const RequestOwner& holder) const;
  std::size_t count_of(const RequestOwner& holder) const;
  std::optional<std::uint64_t> to_replace(const RequestOwner& newcomer) const;
  void remove(std::uint64_t number);

  const PlacesOptions options_;
  mutable std::mutex mutex_;
  /// The holder of each connection; the key is the connection's number.
  std::unordered_map<std::uint64_t, RequestOwner> holders_;
  Holders held_;
  GaveWay gave_way_;
};

/// Gives the place of a connection back when it is destroyed.
class HeldPlace {
 public:
  HeldPlace(std::shared_ptr<Places> places, std::uint64_t number)
      : places_(std::move(places)), number_(number) {}
  ~HeldPlace() { places_->give_back(number_); }
  HeldPlace(const HeldPlace&) = delete;
  HeldPlace& operator=(const HeldPlace&) = delete;

 private:
  std::shared_ptr<Places> places_;
  std::uint64_t number_;
};

}  // namespace starling::stream
