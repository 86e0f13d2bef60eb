// Reads field blocks from an input, in each format that the corpora use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace h2server::fuzz {

struct FieldBlock {
  std::string bytes;
  // SETTINGS_HEADER_TABLE_SIZE that the peer sends before our encoder's next block.
  std::optional<std::uint32_t> encoder_table_bytes;
};

struct FieldBlocks {
  std::uint32_t decoder_table_bytes = 4096;  // our SETTINGS_HEADER_TABLE_SIZE
  std::vector<FieldBlock> blocks;
};

// Formats:
// - An HTTP/2 conversation (begins with the preface): the payloads of HEADERS and CONTINUATION.
// - A story of hpack-test-case (begins with a brace): its wires.
// - Other bytes: the first selects the decoder's table size. Each block has a 16-bit head: the
//   lower twelve bits are its size, the upper four change the size of the encoder's table.
FieldBlocks read_blocks(std::string_view input);

}  // namespace h2server::fuzz
