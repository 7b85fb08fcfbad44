// Rows are formatted into one large buffer, which goes out whole: see result_csv.hpp.
#include "sim/result_csv.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <utility>

#include <zlib.h>

#include "protocol/text_id.hpp"

namespace starling::sim {
namespace {

constexpr std::size_t buffer_bytes = 1 << 20;
constexpr std::string_view header = "tick,time_us,query_id,rank,object_id,distance_m\n";

// What std::to_chars needs for any float64 with three decimals, and more than for any integer.
constexpr std::size_t number_bytes_max = 320;

template <class... Format>
void append_number(std::string& text, Format... number) {
  const std::size_t size = text.size();
  text.resize(size + number_bytes_max);
  const auto [end, error] = std::to_chars(text.data() + size, text.data() + text.size(), number...);
  text.resize(static_cast<std::size_t>(end - text.data()));
}

}  // namespace

/// A file, plain or compressed, or the standard output; errors of any become exceptions.
class ResultCsv::Output {
 public:
  explicit Output(const std::string& path) : path_(path) {
    errno = 0;
    if (path == "-") {
      file_ = stdout;
    } else if (path.ends_with(".gz")) {
      gz_ = gzopen(path.c_str(), "wb1e");
    } else {
      file_ = std::fopen(path.c_str(), "wbe");
    }
    if (!file_ && !gz_) fail("opened");
  }

  ~Output() {
    if (gz_) gzclose(gz_);
    if (file_ && file_ != stdout) std::fclose(file_);
  }

  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view text) {
    if (text.empty()) return;
    const bool written = gz_ ? gzfwrite(text.data(), text.size(), 1, gz_) == 1
                             : std::fwrite(text.data(), text.size(), 1, file_) == 1;
    if (!written) fail("written");
  }

  void flush() {
    if (gz_ ? gzflush(gz_, Z_SYNC_FLUSH) != Z_OK : std::fflush(file_) != 0) fail("written");
  }

  void close() {
    if (file_ == stdout) return flush();
    const bool closed = gz_ ? gzclose(std::exchange(gz_, nullptr)) == Z_OK
                            : std::fclose(std::exchange(file_, nullptr)) == 0;
    if (!closed) fail("completed");
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw std::runtime_error((path_ == "-" ? "the standard output" : path_) + " cannot be " +
                             std::string(what) + ": " + std::strerror(errno));
  }

  std::string path_;
  std::FILE* file_ = nullptr;
  gzFile gz_ = nullptr;
};

ResultCsv::ResultCsv(const std::string& path, const NameTable& query_names,
                     const NameTable& object_names)
    : query_names_(query_names),
      object_names_(object_names),
      output_(std::make_unique<Output>(path)) {
  buffer_ = header;
}

ResultCsv::~ResultCsv() = default;

void ResultCsv::write_tick(Tick tick, std::int64_t tau_us, const protocol::ListStore& lists) {
  entries_.clear();
  for (const auto& list : lists) entries_.push_back(entry_of(list));
  std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
    return std::tie(a.is_text, a.text, a.number, a.list->first) <
           std::tie(b.is_text, b.text, b.number, b.list->first);
  });
  std::string prefix;
  append_number(prefix, to_number(tick));
  prefix += ',';
  append_number(prefix, tau_us);
  prefix += ',';
  for (const Entry& entry : entries_) write_list(prefix, entry);
}

ResultCsv::Entry ResultCsv::entry_of(const protocol::ListStore::value_type& list) const {
  const protocol::ListKey& key = list.first;
  const std::uint64_t id = key.has_subject ? to_number(key.subject) : to_number(key.query);
  const auto& texts = (key.has_subject ? object_names_ : query_names_).texts();
  const auto known = texts.find(id);
  const bool is_text =
      known != texts.end() && !known->second.empty() && !protocol::is_decimal_id(known->second);
  return {is_text, id, is_text ? std::string_view(known->second) : std::string_view(), &list};
}

void ResultCsv::write_list(std::string_view tick_prefix, const Entry& entry) {
  row_prefix_ = tick_prefix;
  append_id(row_prefix_, entry.number,
            entry.list->first.has_subject ? object_names_ : query_names_);
  row_prefix_ += ',';
  std::uint32_t rank = 0;
  for (const protocol::HeldNeighbor& neighbor : entry.list->second.neighbors) {
    buffer_ += row_prefix_;
    append_number(buffer_, ++rank);
    buffer_ += ',';
    append_id(buffer_, to_number(neighbor.object), object_names_);
    buffer_ += ',';
    append_number(buffer_, neighbor.distance_m, std::chars_format::fixed, 3);
    buffer_ += '\n';
  }
  if (buffer_.size() >= buffer_bytes) write_buffer();
}

void ResultCsv::append_id(std::string& text, std::uint64_t id, const NameTable& names) {
  NameTable::NumberText number;
  const std::string_view name = names.text_of(id, number);
  if (name.find_first_of(",\"\r\n") == std::string_view::npos) {
    text += name;
    return;
  }
  text += '"';
  for (const char byte : name) {
    if (byte == '"') text += '"';
    text += byte;
  }
  text += '"';
}

void ResultCsv::write_buffer() {
  output_->write(buffer_);
  buffer_.clear();
}

void ResultCsv::flush() {
  write_buffer();
  output_->flush();
}

void ResultCsv::close() {
  write_buffer();
  output_->close();
}

}  // namespace starling::sim
