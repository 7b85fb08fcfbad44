// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of the log with arbitrary bytes as one or two segments. The reader returns
// groups, a torn tail or a named refusal. Recovery then leaves a log without a torn tail, and a
// writer can continue the log.
#include "starling/log/recovery.hpp"
#include "starling/log/writer.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/log/support/model.hpp"
#include "tests/log/support/simulated_files.hpp"

namespace starling::fuzz {
namespace {

std::vector<std::byte> bytes_from(const std::uint8_t* data, std::size_t size) {
  const auto* const begin = reinterpret_cast<const std::byte*>(data);
  return {begin, begin + size};
}

void recover(log::Files& files) {
  try {
    std::uint64_t groups = 0;
    const auto summary = log::recover_log(files, [&](const log::Group& group) {
      ++groups;
      check_invariant(!group.records.empty(), "a group has records");
    });
    check_invariant(groups == summary.groups, "each group is given once");
    if (!summary.end) return;
    log::Writer writer(files, *summary.end, log::test_options(4096));
    log::commit(writer, {{1, 0, "goes on"}});
    const auto again = log::read_log(files, [](const log::Group&) {});
    check_invariant(again.groups == groups + 1 && !again.torn_tail, "the log goes on");
  } catch (const log::DamagedLog&) {
    check_invariant(!log::check_log(files).damage.empty(), "the check finds what the reader found");
  } catch (const log::LogFromTheFuture&) {
  }
}

}  // namespace

/// Returns a small log in one segment: whole, torn, and with bytes changed.
std::vector<std::string> seeds() {
  log::SimulatedFiles files;
  log::Writer writer(files, log::NewLog{.id = log::test_id(), .user = std::vector<std::byte>(3)},
                     log::test_options(700));
  log::commit(writer, {{1, 0, "one"}, {2, 1, "two"}});
  log::commit(writer, {{3, 0, std::string(100, 'x')}});
  const auto& bytes = files.bytes_of(log::segment_name(1));
  const std::string whole(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<std::string> all{whole};
  for (std::size_t i = 0; i < whole.size(); i += 3) {
    all.push_back(whole.substr(0, i));
    all.push_back(whole);
    all.back()[i] = static_cast<char>(~all.back()[i]);
  }
  return all;
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling;
  log::SimulatedFiles one;
  one.put(log::segment_name(1), fuzz::bytes_from(data, size));
  fuzz::recover(one);
  log::SimulatedFiles two;
  two.put(log::segment_name(1), fuzz::bytes_from(data, size / 2));
  two.put(log::segment_name(2), fuzz::bytes_from(data + size / 2, size - size / 2));
  fuzz::recover(two);
  return 0;
}
