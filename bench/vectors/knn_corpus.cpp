// SPDX-License-Identifier: Apache-2.0
// Copies a corpus to page-locked memory or to a mapped file: see knn_corpus.hpp.
#include "starling/bench/vectors/knn_corpus.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory_resource>
#include <system_error>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace starling::bench {
namespace {

using Copy = std::unique_ptr<float, std::function<void(float*)>>;

[[noreturn]] void throw_of_file() {
  throw std::system_error(errno, std::generic_category(),
                          "bench knn: a temporary file for --memory mapped cannot be written");
}

Copy page_locked_copy(std::span<const float> rows, std::pmr::memory_resource& memory) {
  const std::size_t bytes = rows.size_bytes();
  Copy copy(static_cast<float*>(memory.allocate(bytes, alignof(float))),
            [&memory, bytes](float* at) { memory.deallocate(at, bytes, alignof(float)); });
  std::ranges::copy(rows, copy.get());
  return copy;
}

// The file has no name, so nothing is left of it when it is unmapped.
Copy mapped_copy(std::span<const float> rows) {
  const std::size_t bytes = rows.size_bytes();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  if (file == nullptr) throw_of_file();
  if (std::fwrite(rows.data(), 1, bytes, file.get()) != bytes || std::fflush(file.get()) != 0)
    throw_of_file();
  void* const at = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fileno(file.get()), 0);
  if (at == MAP_FAILED) throw_of_file();
  return {static_cast<float*>(at), [bytes](float* mapped) { munmap(mapped, bytes); }};
}

}  // namespace

KnnCorpus::KnnCorpus(std::vector<float> rows, CorpusMemory memory, VectorSearcher& searcher)
    : rows_(std::move(rows)), components_(rows_) {
  if (memory == CorpusMemory::ordinary) return;
  copy_ = memory == CorpusMemory::mapped ? mapped_copy(rows_)
                                         : page_locked_copy(rows_, searcher.host_memory());
  components_ = {copy_.get(), rows_.size()};
  rows_ = {};
}

}  // namespace starling::bench
