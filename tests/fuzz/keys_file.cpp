// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of the keys file of `starling serve --keys`.
#include "starling/stream/access/keys_file.hpp"

#include <stdexcept>

#include "tests/fuzz/target.hpp"

namespace starling::fuzz {

std::vector<std::string> seeds() {
  return {
      "[server]\nkey = \"server.key\"\n[[principal]]\nname = \"dispatch\"\n"
      "public = \"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7\"\n"
      "roles = [\"publish\", \"query\", \"subscribe\"]\nstreams = [\"rider*\"]\n"
      "objects = [\"0-999999\", \"7\"]\nqueries = [\"5000-5999\"]\n"
      "[principal.quota]\nqueries = 1000\nloop_ms_per_second = 250\n",
      "server = {key = 'k'}\nanonymous.roles = [\"stats\"]\n[[principal]]\nname = \"\\u00e4\"\n"
      "token_sha256 = \"41ef4bb0b23661e66301aac36066912dac037827b4ae63a7b1165a5aa93ed4eb\"\n"
      "roles = [\"admin\", 'tick']\nquota.names = 0x10\n",
      "[server]\nkey = 1979-05-27T07:32:00Z\n",
  };
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling;
  const std::string_view text = fuzz::text_of(data, size);
  try {
    const stream::KeysFile file = stream::parse_keys_file(text, "keys.toml");
    check_invariant(!file.server_key.empty(), "a server has a key");
    for (const stream::KeysEntry& entry : file.principals) {
      check_invariant(entry.key || entry.token, "a principal can show who it is");
      check_invariant(entry.principal.roles.any() && !entry.principal.name.empty(),
                      "a principal has a role and a name");
    }
  } catch (const std::runtime_error& error) {
    check_invariant(std::string_view(error.what()).starts_with("the keys file keys.toml, line "),
                    "a fault has a line");
  }
  return 0;
}
