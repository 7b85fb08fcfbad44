// SPDX-License-Identifier: Apache-2.0
// Fuzzes the decoding of the messages that only a WebSocket carries: requests by the server, and
// views by the client.
#include <array>

#include "starling/protocol/wire/socket_codec.hpp"
#include "tests/fuzz/target.hpp"

namespace starling::fuzz {

std::vector<std::string> seeds() {
  static constexpr std::array<Slot, 2> slots{3, 5};
  static constexpr std::array<std::uint64_t, 2> ids{7, 8};
  static constexpr std::array<std::uint16_t, 4> numbers{1, 2, 3, 4};
  static constexpr std::array<std::uint32_t, 2> tags{0, 9};
  static constexpr std::array<std::string_view, 2> names{"", "a name"};
  const protocol::ViewHead head{.view = 1, .number = 2, .rectangle = {0, 0, 10, 10}};
  std::vector<protocol::Frame> frames;
  for (const protocol::SocketBody& body : std::vector<protocol::SocketBody>{
           protocol::View{.rectangle = {0, 0, 10, 10}}, protocol::EndView{},
           protocol::Follow{"riders"}, protocol::EndFollow{"riders"}})
    frames.push_back(protocol::encode_socket_request(1, body));
  frames.push_back(protocol::encode_view_tick(head, {.left = slots,
                                                     .entered = slots,
                                                     .entered_ids = ids,
                                                     .entered_xy = numbers,
                                                     .entered_tags = tags,
                                                     .entered_names = names,
                                                     .moved = slots,
                                                     .moved_xy = numbers,
                                                     .tagged = slots,
                                                     .tags = tags}));
  frames.push_back(protocol::encode_view_raster(head, {.columns = 2, .rows = 1, .counts = tags}));
  std::vector<std::string> all;
  for (const protocol::Frame& frame : frames) all.push_back(string_of(frame.bytes()));
  return all;
}

namespace {

void decode_as_server(const protocol::AlignedBytes& frame) {
  for (const Space space : {Space::planar2, Space::wgs84, Space::vector}) {
    const auto request = protocol::decode_socket_request(frame, space);
    if (request.problem) {
      check_invariant(request.problem->sentence.ends_with('.'), "a refusal is a sentence");
      continue;
    }
    const auto written = protocol::encode_socket_request(request.request_id, request.body);
    const protocol::AlignedBytes again(written.bytes());
    check_invariant(!protocol::decode_socket_request(again, space).problem,
                    "what we write can be read");
  }
}

void decode_as_client(const protocol::AlignedBytes& frame) {
  const auto view = protocol::decode_view(frame);
  if (view.problem) return;
  [[maybe_unused]] volatile std::uint64_t last = 0;
  const auto touch = [&](const auto& values) {
    for (const auto value : values) last = value;
  };
  if (const auto* changes = std::get_if<protocol::ViewChanges>(&view.body)) {
    touch(changes->left);
    touch(changes->entered_ids);
    touch(changes->entered_xy);
    touch(changes->moved_xy);
    touch(changes->tags);
  } else {
    touch(std::get<protocol::ViewCells>(view.body).counts);
  }
  for (const std::string_view name : view.names) last = name.size();
}

}  // namespace
}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling;
  const std::string received = fuzz::shifted(data, size);
  const protocol::AlignedBytes frame(fuzz::bytes_of(received).subspan(1));
  fuzz::decode_as_server(frame);
  fuzz::decode_as_client(frame);
  return 0;
}
