// SPDX-License-Identifier: Apache-2.0
// Gathers pieces of several messages for one system call: see write_queue.hpp.
#include "starling/stream/zmtp/write_queue.hpp"

#include <algorithm>
#include <utility>

namespace starling::stream::zmtp {

namespace {

// After this many bytes, no further frame is sealed until these are written.
constexpr std::size_t sealed_bytes_enough = std::size_t{128} << 10;

std::span<const std::byte> bytes_of(const iovec& piece) {
  return {static_cast<const std::byte*>(piece.iov_base), piece.iov_len};
}
iovec view_of(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace

void WriteQueue::push(std::shared_ptr<const WireMessage> message, std::size_t charge) {
  entries_.push_back({std::move(message), charge, false});
  charge_ += charge;
}

// Answers of the handshake are sent before all messages. Later answers are PONGs and PINGs, which
// must not be sent between the frames of a message.
void WriteQueue::push_first(std::shared_ptr<const WireMessage> message) {
  auto place = entries_.begin();
  const bool has_begun = piece_ > 0 || piece_written_ > 0 || part_ > 0;
  if (has_begun && place != entries_.end()) ++place;
  while (place != entries_.end() && place->is_answer) ++place;
  entries_.insert(place, {std::move(message), 0, true});
}

void WriteQueue::seal(CurveCipher& cipher) {
  const WireMessage& message = *entries_.front().message;
  sealed_.clear();
  sealed_written_ = 0;
  while (part_ < message.parts().size() && sealed_.size() < sealed_bytes_enough) {
    cipher.seal(message.head_of(part_), message.parts()[part_].bytes, sealed_);
    ++part_;
  }
}

std::span<iovec> WriteQueue::next(CurveCipher* cipher) {
  if (empty()) return {};
  const bool is_plain = sealed_written_ == sealed_.size() &&
                        (cipher == nullptr || entries_.front().message->is_raw());
  if (!is_plain) {
    if (sealed_written_ == sealed_.size()) seal(*cipher);
    views_[0] = view_of(std::span(sealed_).subspan(sealed_written_));
    return std::span(views_).first(1);
  }
  std::size_t count = 0;
  std::size_t piece = piece_;
  std::size_t skipped = piece_written_;
  for (const Entry& entry : entries_) {
    if (cipher != nullptr && !entry.message->is_raw()) break;
    for (const std::span pieces = entry.message->pieces();
         piece < pieces.size() && count < views_.size(); ++piece) {
      views_[count++] = view_of(bytes_of(pieces[piece]).subspan(skipped));
      skipped = 0;
    }
    if (count == views_.size()) break;
    piece = 0;
  }
  return std::span(views_).first(count);
}

void WriteQueue::finish_first(Written& written) {
  const Entry& entry = entries_.front();
  if (!entry.is_answer) ++written.messages;
  written.charge += entry.charge;
  charge_ -= entry.charge;
  entries_.pop_front();
  piece_ = 0;
  piece_written_ = 0;
  part_ = 0;
}

WriteQueue::Written WriteQueue::written(std::size_t bytes) {
  Written written;
  if (sealed_written_ < sealed_.size()) {
    sealed_written_ += bytes;
    if (sealed_written_ < sealed_.size()) return written;
    if (sealed_.capacity() > 2 * sealed_bytes_enough) sealed_ = {};
    sealed_.clear();
    sealed_written_ = 0;
    if (part_ == entries_.front().message->parts().size()) finish_first(written);
    return written;
  }
  while (bytes > 0) {
    const std::span pieces = entries_.front().message->pieces();
    const std::size_t count = std::min(bytes, pieces[piece_].iov_len - piece_written_);
    bytes -= count;
    piece_written_ += count;
    if (piece_written_ < pieces[piece_].iov_len) break;
    piece_written_ = 0;
    if (++piece_ == pieces.size()) finish_first(written);
  }
  return written;
}

}  // namespace starling::stream::zmtp
