// SPDX-License-Identifier: Apache-2.0
// Turns records into payloads of the log and back. All numbers are little endian, and a text or an
// array follows its length. RequestLog, the journal, recovery and apps/journal use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "starling/knn/tables/query_table.hpp"
#include "starling/log/reader.hpp"
#include "starling/protocol/rows/prepared_rows.hpp"
#include "starling/protocol/wire/frame.hpp"
#include "starling/stream/journal/records.hpp"

namespace starling::stream {

/// A record is whole, but this program cannot read it: a later program wrote it.
class UnknownRecord : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A buffer to which encode() appends. It is reused from record to record, so that encoding
/// allocates nothing.
using RecordBytes = std::vector<std::byte>;

void encode(const EpochRecord& record, RecordBytes& out);
void encode(const RunRecord& record, RecordBytes& out);
void encode(const PrincipalRecord& record, RecordBytes& out);
void encode(const SessionOpenedRecord& record, RecordBytes& out);
void encode(const SessionEndedRecord& record, RecordBytes& out);
void encode(const LeasesMovedRecord& record, RecordBytes& out);
void encode(const OutgrownRecord& record, RecordBytes& out);
void encode(const TickBegunRecord& record, RecordBytes& out);
void encode(const TickFinishedRecord& record, RecordBytes& out);
void encode(const PublishedRecord& record, RecordBytes& out);

// The type of each record but RequestRecord, which is encoded from a RequestNote.
inline log::RecordType record_type_of(const EpochRecord&) {
  return record_type::epoch;
}
inline log::RecordType record_type_of(const RunRecord&) {
  return record_type::run;
}
inline log::RecordType record_type_of(const PrincipalRecord&) {
  return record_type::principal;
}
inline log::RecordType record_type_of(const SessionOpenedRecord&) {
  return record_type::session_opened;
}
inline log::RecordType record_type_of(const SessionEndedRecord&) {
  return record_type::session_ended;
}
inline log::RecordType record_type_of(const LeasesMovedRecord&) {
  return record_type::leases_moved;
}
inline log::RecordType record_type_of(const OutgrownRecord&) {
  return record_type::outgrown;
}
inline log::RecordType record_type_of(const TickBegunRecord&) {
  return record_type::tick_begun;
}
inline log::RecordType record_type_of(const TickFinishedRecord&) {
  return record_type::tick_finished;
}
inline log::RecordType record_type_of(const PublishedRecord&) {
  return record_type::published;
}

/// The fields of a RequestRecord without its change. `reply` is the frame that was sent.
struct RequestNote {
  std::uint64_t session = 0;
  std::uint64_t sequence = 0;
  std::uint64_t body_hash = 0;
  std::uint32_t principal = 0;
  std::span<const std::byte> reply;
};
/// `change` holds an encoded change. It is empty if the request changed nothing.
void encode(const RequestNote& note, std::span<const std::byte> change, RecordBytes& out);

// These functions encode what a request changes. They leave out rows with a status that rejects
// them, and keep late rows.
void encode_change(const protocol::RowSet<ObjectUpdate>& set,
                   std::span<const UpdateStatus> statuses, RecordBytes& out);
void encode_change(const protocol::VectorRowSet& set, std::span<const UpdateStatus> statuses,
                   RecordBytes& out);
void encode_change(const protocol::RowSet<TagUpdate>& set, std::span<const UpdateStatus> statuses,
                   bool may_change_others, RecordBytes& out);
void encode_change(const protocol::RowSet<ObjectRemoval>& set,
                   std::span<const UpdateStatus> statuses, RecordBytes& out);
void encode_change(std::string_view stream, const protocol::RowSet<QueryDefinition>& set,
                   std::span<const QueryStatus> statuses, RecordBytes& out);
/// This function and the next one encode only ids and names with RowReason::none. All others were
/// rejected.
void encode_change(const protocol::RemoveQueries& request,
                   std::span<const protocol::RowReason> reasons, RecordBytes& out);
void encode_change(const protocol::PutNames& request, std::span<const protocol::RowReason> reasons,
                   RecordBytes& out);
void encode_change(const protocol::PutStream& request, RecordBytes& out);
void encode_change(const protocol::RemoveStream& request, RecordBytes& out);
/// Returns whether an encoded change puts or removes a stream.
bool is_of_stream(std::span<const std::byte> change);
/// Returns whether an encoded change puts or removes queries.
bool is_of_queries(std::span<const std::byte> change);

/// Returns the reply as a frame, without request id and sequence number.
protocol::Frame frame_of(const SequencedReply& reply);
/// Returns the reply in a frame; std::nullopt if the frame has no reply that this program knows.
std::optional<SequencedReply> reply_in(std::span<const std::byte> frame);

/// Throws UnknownRecord if this program does not know the type or the version of the record.
void check_known(const log::Record& record);

/// Returns session and sequence number of a RequestRecord, and decodes nothing else.
std::pair<std::uint64_t, std::uint64_t> request_of(const log::Record& record);

/// Throws UnknownRecord, with a sentence that names the record.
JournalRecord decode(const log::Record& record);

}  // namespace starling::stream
