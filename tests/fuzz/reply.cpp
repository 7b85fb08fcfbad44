// SPDX-License-Identifier: Apache-2.0
// Fuzzes a client's decoding of a reply frame.
#include "starling/protocol/client/list_store.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/protocol/wire/samples.hpp"

namespace starling::fuzz {

std::vector<std::string> seeds() {
  return strings_of(protocol::test::sample_reply_frames());
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling;
  using namespace starling::fuzz;
  const std::string received = shifted(data, size);
  const protocol::AlignedBytes frame(bytes_of(received).subspan(1));
  const auto decoded = protocol::decode_reply(frame);
  if (decoded.problem) return 0;
  const protocol::ListChunk* lists = nullptr;
  if (const auto* page = std::get_if<protocol::SnapshotPage>(&decoded.body)) lists = &page->lists;
  if (const auto* answer = std::get_if<protocol::Neighbors>(&decoded.body)) lists = &answer->lists;
  if (const auto* names = std::get_if<protocol::Names>(&decoded.body))
    protocol::encode_names(decoded.head, *names);
  if (const auto* stats = std::get_if<protocol::Stats>(&decoded.body))
    protocol::encode_stats(decoded.head, *stats);
  if (const auto* page = std::get_if<protocol::Streams>(&decoded.body))
    protocol::encode_streams(decoded.head, *page);
  if (const auto* page = std::get_if<protocol::Queries>(&decoded.body))
    protocol::encode_queries(decoded.head, *page);
  if (const auto* page = std::get_if<protocol::Objects>(&decoded.body))
    protocol::encode_objects(decoded.head, *page);
  if (lists != nullptr)
    for (std::size_t list = 0; list < lists->list_count(); ++list) {
      protocol::key_of(*lists, list);
      protocol::list_of(*lists, list);
    }
  return 0;
}
