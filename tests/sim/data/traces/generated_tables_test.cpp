// SPDX-License-Identifier: Apache-2.0
// Reads generated tables from memory and compares every row with the row that was written: no row
// is lost or altered unless it is counted under the right reason. STARLING_GENERATED_TABLES sets
// the number of tables, and STARLING_GENERATED_SEED the first seed. The slow test reads a million.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <iomanip>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/sim/data/traces/generated_table.hpp"
#include "tests/sim/data/traces/trace_fixture.hpp"

namespace starling::sim {
namespace {

constexpr std::size_t failures_max = 3;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const given = std::getenv(variable);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

/// A file without a name and without a disk, which is written again for each table.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("table", 0)) {
    if (descriptor_ < 0) throw std::runtime_error("memfd_create failed");
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  void write(const std::string& bytes) const {
    if (ftruncate(descriptor_, 0) != 0 ||
        pwrite(descriptor_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
      throw std::runtime_error("the file in memory cannot be written");
  }

 private:
  int descriptor_;
};

std::string escaped(std::string_view bytes) {
  std::ostringstream text;
  for (const char byte : bytes) {
    if (byte == '\n')
      text << "\\n\n";
    else if (byte == '\r')
      text << "\\r";
    else if (byte == '\t')
      text << "\\t";
    else if (byte >= ' ' && byte <= '~')
      text << byte;
    else
      text << "\\x" << std::hex << std::setfill('0') << std::setw(2)
           << (static_cast<unsigned>(byte) & 0xffU) << std::dec;
  }
  return text.str();
}

bool is_same(double one, double other) {
  return std::bit_cast<std::uint64_t>(one) == std::bit_cast<std::uint64_t>(other);
}

/// The rows of a trace in the form of KnownRow.
std::vector<KnownRow> known_rows(const ReadTrace& trace) {
  std::vector<KnownRow> rows;
  for (const TraceRow& row : trace.rows) {
    NameTable::NumberText buffer;
    KnownRow known{std::string(trace.names.text_of(to_number(row.id), buffer)), row.time_us,
                   row.position[0], row.position[1]};
    if (row.has_tags) known.tags = row.tags;
    rows.push_back(std::move(known));
  }
  return rows;
}

bool is_equal(const KnownRow& one, const KnownRow& other) {
  return one.id == other.id && one.time_us == other.time_us && is_same(one.x, other.x) &&
         is_same(one.y, other.y) && one.tags == other.tags;
}

void print(std::ostream& text, const std::vector<KnownRow>& rows,
           const std::array<std::uint64_t, skip_reason_count>& skipped) {
  for (const KnownRow& row : rows)
    text << "  " << escaped(row.id) << ' ' << row.time_us << ' ' << row.x << ' ' << row.y << ' '
         << (row.tags ? std::to_string(*row.tags) : "-") << '\n';
  for (std::size_t reason = 0; reason < skip_reason_count; ++reason)
    if (skipped[reason] != 0)
      text << "  " << to_string(static_cast<SkipReason>(reason)) << ": " << skipped[reason] << '\n';
}

/// Returns what is wrong with the rows that are read from the table, or an empty text.
std::string fault_of(std::uint64_t seed, const GeneratedTable& table, const MemoryFile& file) {
  file.write(table.bytes);
  ReadTrace trace;
  std::string error;
  try {
    trace = read_trace({file.path()}, table.options);
  } catch (const std::exception& thrown) {
    error = thrown.what();
  }
  const std::vector<KnownRow> rows = known_rows(trace);
  if (error.empty() && std::ranges::equal(rows, table.rows, is_equal) &&
      trace.counts.rows == table.rows.size() && trace.counts.skipped == table.skipped)
    return {};
  std::ostringstream text;
  text.precision(17);
  text << "replay with STARLING_GENERATED_TABLES=1 STARLING_GENERATED_SEED=" << seed
       << "\ncolumns: " << table.options.columns
       << "\noffset: " << table.options.utc_offset_us / 60'000'000 << " min\n"
       << escaped(table.bytes) << "\nexpected:\n";
  print(text, table.rows, table.skipped);
  text << "read:\n" << error << '\n';
  print(text, known_rows(trace), trace.counts.skipped);
  for (const std::string& first : trace.counts.first_skipped) text << first << '\n';
  for (const std::string& said : trace.notes) text << said << '\n';
  return text.str();
}

class TableCheck {
 public:
  TableCheck(std::uint64_t first_seed, std::uint64_t count)
      : next_seed_(first_seed), end_(first_seed + count) {}

  /// Checks tables until all are checked. Several threads may call it.
  void run() {
    const MemoryFile file;
    for (std::uint64_t seed = next_seed_++; seed < end_; seed = next_seed_++) {
      const GeneratedTable table = generated_table(seed);
      const std::string fault = fault_of(seed, table, file);
      rows_ += table.rows.size();
      for (std::size_t reason = 0; reason < skip_reason_count; ++reason)
        skipped_[reason] += table.skipped[reason];
      if (fault.empty()) continue;
      const std::lock_guard lock(mutex_);
      ++fault_count_;
      if (faults_.size() < failures_max) faults_.push_back(fault);
    }
  }

  void expect_no_fault() const {
    for (const std::string& fault : faults_) ADD_FAILURE() << fault;
    EXPECT_EQ(fault_count_, 0u) << "tables were misread";
  }
  std::uint64_t rows() const { return rows_; }
  std::uint64_t skipped(SkipReason reason) const {
    return skipped_[static_cast<std::size_t>(reason)];
  }

 private:
  std::atomic<std::uint64_t> next_seed_;
  const std::uint64_t end_;
  std::atomic<std::uint64_t> rows_ = 0;
  std::array<std::atomic<std::uint64_t>, skip_reason_count> skipped_{};
  std::mutex mutex_;
  std::vector<std::string> faults_;
  std::uint64_t fault_count_ = 0;
};

TEST(GeneratedTables, NoRowIsLostOrAlteredInSilence) {
  // The reader's buffers stay in the heap. Otherwise each table costs dozens of system calls.
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  const std::uint64_t count = number_from("STARLING_GENERATED_TABLES", 4'000);
  TableCheck check(number_from("STARLING_GENERATED_SEED", 1), count);
  {
    const std::jthread other([&] { check.run(); });
    check.run();
  }
  check.expect_no_fault();
  RecordProperty("rows", std::to_string(check.rows()));
  if (count < 1'000) return;
  // The test would prove little if one of these hardly ever happened.
  EXPECT_GT(check.rows(), 3 * count);
  for (const SkipReason reason :
       {SkipReason::missing_field, SkipReason::unparsable, SkipReason::out_of_range,
        SkipReason::null_island, SkipReason::too_many_fields}) {
    RecordProperty("skipped_" + std::to_string(static_cast<int>(reason)),
                   std::to_string(check.skipped(reason)));
    EXPECT_GT(check.skipped(reason), count / 200) << to_string(reason);
  }
}

}  // namespace
}  // namespace starling::sim
