// One parallel, stable scatter of a tick's live objects into buckets: what both indexes start from.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cpu/object_snapshot.hpp"
#include "cpu/thread_pool.hpp"

namespace starling::cpu {

struct PlacedObject {
  LatticePoint position;
  Slot slot = no_slot;
};

class BucketScatter {
 public:
  /// bucket_of(position) is below `buckets`. Within a bucket objects are in order of slot, whatever
  /// the number of threads. The result is valid until the next call.
  template <class BucketOf>
  void run(const ObjectSnapshot& objects, std::size_t buckets, const BucketOf& bucket_of,
           ThreadPool& pool);

  std::span<PlacedObject> placed() { return placed_; }
  std::size_t bucket_count() const { return begins_.size() - 1; }
  std::uint32_t begin(std::size_t bucket) const { return begins_[bucket]; }
  std::span<PlacedObject> bucket(std::size_t bucket) {
    return std::span(placed_).subspan(begins_[bucket], begins_[bucket + 1] - begins_[bucket]);
  }

 private:
  std::vector<PlacedObject> placed_;
  std::vector<std::uint32_t> begins_;
  std::vector<std::vector<std::uint32_t>> places_;  ///< by chunk, then bucket
};

template <class BucketOf>
void BucketScatter::run(const ObjectSnapshot& objects, std::size_t buckets,
                        const BucketOf& bucket_of, ThreadPool& pool) {
  const std::size_t chunks = pool.threads();
  const auto begin_of = [&](std::size_t chunk) { return objects.slot_count() * chunk / chunks; };
  placed_.resize(objects.alive_count());
  places_.resize(chunks);
  pool.run(chunks, [&](std::size_t chunk, unsigned) {
    std::vector<std::uint32_t>& counts = places_[chunk];
    counts.assign(buckets, 0);
    for (std::size_t i = begin_of(chunk); i < begin_of(chunk + 1); ++i) {
      const Slot slot = static_cast<Slot>(i);
      if (objects.is_alive(slot)) ++counts[bucket_of(objects.position(slot))];
    }
  });
  begins_.resize(buckets + 1);
  std::uint32_t place = 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    begins_[bucket] = place;
    for (std::vector<std::uint32_t>& counts : places_)
      place += std::exchange(counts[bucket], place);
  }
  begins_[buckets] = place;
  pool.run(chunks, [&](std::size_t chunk, unsigned) {
    std::vector<std::uint32_t>& places = places_[chunk];
    for (std::size_t i = begin_of(chunk); i < begin_of(chunk + 1); ++i) {
      const Slot slot = static_cast<Slot>(i);
      if (!objects.is_alive(slot)) continue;
      const LatticePoint& position = objects.position(slot);
      placed_[places[bucket_of(position)]++] = {position, slot};
    }
  });
}

}  // namespace starling::cpu
