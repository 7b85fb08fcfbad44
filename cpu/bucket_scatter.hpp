// One parallel, stable scatter of a tick's live objects into buckets: what both indexes start from.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "cpu/object_snapshot.hpp"
#include "cpu/thread_pool.hpp"

namespace starling::cpu {

class BucketScatter {
 public:
  /// Calls put(place, position, slot) once for each live object, from several threads. The places
  /// of a bucket follow one another, in order of slot whatever the number of threads;
  /// bucket_of(position) is below `buckets`.
  template <class BucketOf, class Put>
  void run(const ObjectSnapshot& objects, std::size_t buckets, const BucketOf& bucket_of,
           const Put& put, ThreadPool& pool);

  std::size_t bucket_count() const { return begins_.size() - 1; }
  std::uint32_t begin(std::size_t bucket) const { return begins_[bucket]; }
  std::uint32_t size(std::size_t bucket) const { return begins_[bucket + 1] - begins_[bucket]; }

 private:
  std::vector<std::uint32_t> begins_;
  std::vector<std::vector<std::uint32_t>> places_;  ///< by chunk, then bucket
};

template <class BucketOf, class Put>
void BucketScatter::run(const ObjectSnapshot& objects, std::size_t buckets,
                        const BucketOf& bucket_of, const Put& put, ThreadPool& pool) {
  const std::size_t chunks = pool.threads();
  const auto begin_of = [&](std::size_t chunk) { return objects.slot_count() * chunk / chunks; };
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
      put(places[bucket_of(position)]++, position, slot);
    }
  });
}

}  // namespace starling::cpu
