#include "field_blocks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "http/h2/frame.h"

namespace h2server::fuzz {

namespace {

using http::h2::FrameHead;
using http::h2::FrameType;
namespace flag = http::h2::flag;

constexpr std::uint32_t table_bytes_max = 64 * 1024;  // the decoder's limit

// Returns the start of a field block in a HEADERS frame (RFC 9113, 6.2).
std::string_view block_of_headers(const FrameHead& head, std::string_view payload) {
  const std::size_t padding =
      head.has(flag::padded) && !payload.empty() ? static_cast<unsigned char>(payload[0]) : 0;
  const std::size_t before = (head.has(flag::padded) ? 1 : 0) + (head.has(flag::priority) ? 5 : 0);
  payload.remove_prefix(std::min(before, payload.size()));
  payload.remove_suffix(std::min(padding, payload.size()));
  return payload;
}

FieldBlocks blocks_of_conversation(std::string_view bytes) {
  using http::h2::frame_head_bytes;
  FieldBlocks result;
  std::string block;
  bytes.remove_prefix(http::h2::preface.size());
  while (bytes.size() >= frame_head_bytes) {
    const FrameHead head = http::h2::read_frame_head(bytes.data());
    bytes.remove_prefix(frame_head_bytes);
    const std::string_view payload = bytes.substr(0, head.size);
    bytes.remove_prefix(payload.size());
    if (head.type == FrameType::headers) {
      block = block_of_headers(head, payload);
    } else if (head.type == FrameType::continuation) {
      block += payload;
    } else {
      continue;
    }
    if (head.has(flag::end_headers)) {
      result.blocks.push_back({std::exchange(block, {}), std::nullopt});
    }
  }
  return result;
}

std::string unhex(std::string_view text) {
  std::string bytes;
  for (; text.size() >= 2; text.remove_prefix(2)) {
    unsigned byte = 0;
    if (std::from_chars(text.data(), text.data() + 2, byte, 16).ptr != text.data() + 2) break;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

// Returns the text after `key` and a colon up to a comma or line end, trimmed.
std::string_view take_value(std::string_view& text, std::string_view key) {
  text.remove_prefix(std::min(text.find(key), text.size()));
  text.remove_prefix(std::min(key.size(), text.size()));
  text.remove_prefix(std::min(text.find_first_not_of("\": "), text.size()));
  return text.substr(0, text.find_first_of("\",\r\n}"));
}

FieldBlocks blocks_of_story(std::string_view text) {
  FieldBlocks result;
  for (std::string_view rest = text; !rest.empty();) {
    std::uint32_t size = 0;
    const std::string_view digits = take_value(rest, "\"header_table_size\"");
    std::from_chars(digits.data(), digits.data() + digits.size(), size);
    const std::uint32_t wanted = std::max(result.decoder_table_bytes, size);
    result.decoder_table_bytes = std::min(wanted, table_bytes_max);
  }
  for (std::string_view rest = text; !rest.empty();) {
    const std::string wire = unhex(take_value(rest, "\"wire\""));
    if (!wire.empty()) result.blocks.push_back({wire, std::nullopt});
  }
  return result;
}

FieldBlocks blocks_of_bytes(std::string_view bytes) {
  constexpr std::array<std::uint32_t, 4> tables = {4096, table_bytes_max, 0, 200};
  FieldBlocks result;
  if (bytes.empty()) return result;
  result.decoder_table_bytes = tables[static_cast<unsigned char>(bytes[0]) % tables.size()];
  bytes.remove_prefix(1);
  while (bytes.size() >= 2) {
    const unsigned head =
        static_cast<unsigned char>(bytes[0]) * 256U + static_cast<unsigned char>(bytes[1]);
    bytes.remove_prefix(2);
    const std::string_view block = bytes.substr(0, head & 0xfff);
    bytes.remove_prefix(block.size());
    const unsigned change = head >> 12;
    result.blocks.push_back({std::string(block), std::nullopt});
    if (change != 0) result.blocks.back().encoder_table_bytes = (change - 1) * 300;
  }
  return result;
}

}  // namespace

FieldBlocks read_blocks(std::string_view input) {
  if (input.starts_with(http::h2::preface)) return blocks_of_conversation(input);
  if (input.starts_with('{')) return blocks_of_story(input);
  return blocks_of_bytes(input);
}

}  // namespace h2server::fuzz
