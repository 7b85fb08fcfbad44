#include "cpu/bucket_scatter.hpp"

namespace starling::cpu {

Box BucketScatter::bounding_box(const ObjectSnapshot& objects, ThreadPool& pool) {
  const std::size_t chunks = pool.threads();
  std::vector<Box> boxes(chunks);
  pool.run(chunks, [&](std::size_t chunk, unsigned) {
    const std::size_t end = objects.slot_count() * (chunk + 1) / chunks;
    Box box;
    for (std::size_t slot = objects.slot_count() * chunk / chunks; slot < end; ++slot)
      if (objects.is_alive(static_cast<Slot>(slot)))
        box.add(objects.position(static_cast<Slot>(slot)));
    boxes[chunk] = box;
  });
  Box all;
  for (const Box& box : boxes)
    if (!box.is_empty()) all.add(box);
  return all;
}

}  // namespace starling::cpu
