// The field blocks of an input, in each of the forms that corpora have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace h2server::fuzz {

struct FieldBlock {
  std::string bytes;
  // What the peer says of our encoder's table before the block that answers this one.
  std::optional<std::uint32_t> encoder_table_bytes;
};

struct FieldBlocks {
  std::uint32_t decoder_table_bytes = 4096;  // what we offer: SETTINGS_HEADER_TABLE_SIZE
  std::vector<FieldBlock> blocks;
};

// A conversation of HTTP/2, which begins with the preface: what HEADERS and CONTINUATION carry. A
// story of hpack-test-case, which begins with a brace: its wires, as far as it goes. Anything else:
// a byte that chooses the decoder's table, and for each block 16 bits, of which the lower twelve
// are its size and the others change the encoder's table.
FieldBlocks read_blocks(std::string_view input);

}  // namespace h2server::fuzz
