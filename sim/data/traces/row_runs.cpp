// SPDX-License-Identifier: Apache-2.0
// Writes and reads runs in large blocks. Merges runs with a heap that holds, for each run, the key
// of its next row. See row_runs.hpp.
#include "starling/sim/data/traces/row_runs.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace starling::sim {
namespace {

constexpr std::size_t run_buffer_bytes = 1 << 20;  // large enough for sequential disk reads
constexpr std::size_t fan_in_max = 256;

/// Merges some runs of a file. Each run and the result have a buffer of `buffer_rows` rows.
class Merge {
 public:
  Merge(const RowRuns& source, std::span<const RowRuns::Run> runs, std::size_t buffer_rows)
      : source_(source), buffer_rows_(std::max<std::size_t>(buffer_rows, 1)) {
    for (const RowRuns::Run& run : runs) {
      heads_.push_back({run, {}, 0});
      if (refill(heads_.back())) push(heads_.size() - 1);
    }
  }

  /// Returns the next rows in order, at most `buffer_rows`, or an empty span at the end.
  std::span<const TraceRow> next_block() {
    block_.clear();
    while (!heap_.empty() && block_.size() < buffer_rows_) {
      std::ranges::pop_heap(heap_, std::ranges::greater());
      const std::size_t index = heap_.back().second;
      heap_.pop_back();
      Head& head = heads_[index];
      block_.push_back(head.buffer[head.position++]);
      if (head.position < head.buffer.size() || refill(head)) push(index);
    }
    return block_;
  }

 private:
  struct Head {
    RowRuns::Run rest;
    std::vector<TraceRow> buffer;
    std::size_t position = 0;
  };

  bool refill(Head& head) {
    const std::uint64_t count =
        std::min<std::uint64_t>(head.rest.end - head.rest.begin, buffer_rows_);
    head.buffer.resize(count);
    head.position = 0;
    source_.file().read(head.rest.begin, head.buffer);
    head.rest.begin += count;
    return count > 0;
  }

  void push(std::size_t index) {
    const Head& head = heads_[index];
    heap_.emplace_back(key_of(head.buffer[head.position], source_.order()), index);
    std::ranges::push_heap(heap_, std::ranges::greater());
  }

  const RowRuns& source_;
  const std::size_t buffer_rows_;
  std::vector<Head> heads_;
  std::vector<std::pair<RowKey, std::size_t>> heap_;  ///< smallest key first, then earliest run
  std::vector<TraceRow> block_;
};

class MergedRows : public RowStream {
 public:
  MergedRows(RowRuns runs, std::size_t buffer_rows, std::int64_t newest_us)
      : RowStream(runs.row_count(), newest_us),
        runs_(std::move(runs)),
        merge_(runs_, runs_.runs(), buffer_rows) {}

  std::span<const TraceRow> next_block() override { return merge_.next_block(); }

 private:
  const RowRuns runs_;
  Merge merge_;
};

}  // namespace

ScratchFile::ScratchFile(std::string directory)
    : directory_(directory.empty() ? std::filesystem::temp_directory_path().string()
                                   : std::move(directory)) {
  std::string path = directory_ + "/starling_sort_XXXXXX";
  descriptor_ = mkostemp(path.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail("cannot be made");
  unlink(path.c_str());
}

ScratchFile::ScratchFile(ScratchFile&& other) noexcept
    : directory_(std::move(other.directory_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

ScratchFile::~ScratchFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void ScratchFile::append(std::span<const TraceRow> rows) {
  for (std::span<const std::byte> rest = std::as_bytes(rows); !rest.empty();) {
    const ssize_t bytes = write(descriptor_, rest.data(), rest.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) fail("cannot be written");
    rest = rest.subspan(static_cast<std::size_t>(bytes));
  }
}

void ScratchFile::read(std::uint64_t first, std::span<TraceRow> rows) const {
  auto offset = static_cast<off_t>(first * sizeof(TraceRow));
  for (std::span<std::byte> rest = std::as_writable_bytes(rows); !rest.empty();) {
    const ssize_t bytes = pread(descriptor_, rest.data(), rest.size(), offset);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes == 0) errno = EIO;
    if (bytes <= 0) fail("cannot be read back");
    rest = rest.subspan(static_cast<std::size_t>(bytes));
    offset += bytes;
  }
}

void ScratchFile::fail(const char* what) const {
  throw std::system_error(
      errno, std::generic_category(),
      directory_ + ": the temporary file for sorting " + what +
          " (--temp-dir names another directory; a larger --sort-memory sorts without a file)");
}

void RowRuns::append(std::span<const TraceRow> rows) {
  if (rows.empty()) return;
  const std::uint64_t begin = row_count();
  const bool follows = !runs_.empty() && !(key_of(rows.front(), order_) < last_key_);
  if (runs_.empty() || (run_begins_ && !follows)) runs_.push_back({begin, begin});
  run_begins_ = false;
  file_.append(rows);
  runs_.back().end += rows.size();
  last_key_ = key_of(rows.back(), order_);
}

std::unique_ptr<RowStream> merge(RowRuns runs, std::size_t memory_bytes, std::int64_t newest_us) {
  const std::size_t fan_in =
      std::clamp<std::size_t>(memory_bytes / run_buffer_bytes, 2, fan_in_max);
  const std::size_t buffer_rows =
      std::min(memory_bytes / (fan_in + 1), run_buffer_bytes) / sizeof(TraceRow);
  if (runs.runs().size() <= fan_in)
    return std::make_unique<MergedRows>(std::move(runs), buffer_rows, newest_us);
  RowRuns fewer(runs.order(), runs.file().directory());
  for (std::span<const RowRuns::Run> rest = runs.runs(); !rest.empty();) {
    const std::size_t count = std::min(rest.size(), fan_in);
    Merge pass(runs, rest.first(count), buffer_rows);
    fewer.begin_run();
    for (auto block = pass.next_block(); !block.empty(); block = pass.next_block())
      fewer.append(block);
    rest = rest.subspan(count);
  }
  return merge(std::move(fewer), memory_bytes, newest_us);
}

}  // namespace starling::sim
