#include "http/h2/hpack/decoder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "http/fields/syntax.h"
#include "http/h2/hpack/bytes.h"
#include "http/h2/hpack/huffman.h"
#include "http/h2/hpack/integer.h"
#include "http/h2/hpack/static_table.h"

namespace h2server::http::h2::hpack {

namespace {

constexpr std::uint32_t initial_table_bytes = 4096;  // RFC 9113, 6.5.2

constexpr std::array<FieldLine, static_table.size()> static_lines = [] {
  std::array<FieldLine, static_table.size()> made{};
  for (std::size_t i = 0; i < made.size(); ++i) {
    const StaticEntry& entry = static_table[i];
    made[i] = {entry.name, entry.value, entry.token, true, true, true, true, false};
  }
  return made;
}();

// The thread's buffer for the unpacked Huffman codes of one line. It grows to the need of the
// longest block, which the limit on a block's size bounds, and does not shrink.
class Scratch {
 public:
  char* take(std::size_t size) {
    if (size > size_) {
      size_ = std::max(size, size_ * 2);
      bytes_ = std::make_unique_for_overwrite<char[]>(size_);
    }
    return bytes_.get();
  }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
};
constinit thread_local Scratch scratch;

// RFC 9113, 8.2.1.
bool is_valid_name(std::string_view name) noexcept {
  if (name.starts_with(':')) name.remove_prefix(1);
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return is_token_character(c) && (c < 'A' || c > 'Z');
  });
}

bool ends_in_space(std::string_view value) noexcept {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  return is_space(value.front()) || is_space(value.back());
}

// RFC 9113, 8.2.1, and, as in HTTP/1.1 here, no other control character (RFC 9110, 5.5).
bool is_valid_value(std::string_view value) noexcept {
  if (value.empty()) return true;
  if (ends_in_space(value)) return false;
  // Finds control characters, eight bytes at a time. A tab is one too but is valid, hence the
  // second check at the end.
  constexpr std::uint64_t ones = 0x0101010101010101;
  std::uint64_t found = 0;
  std::size_t i = 0;
  for (; i + 8 <= value.size(); i += 8) {
    const auto word = load<std::uint64_t>(value.data() + i);
    const std::uint64_t del = word ^ (ones * 0x7f);  // 0 where a byte is DEL
    found |= ((word - ones * 0x20) & ~word & (ones << 7)) | ((del - ones) & ~del & (ones << 7));
  }
  for (; i < value.size(); ++i) {
    const auto byte = static_cast<unsigned char>(value[i]);
    found |= byte < 0x20 || byte == 0x7f ? 1 : 0;
  }
  if (found == 0) [[likely]]
    return true;
  return std::ranges::all_of(value, is_field_value_character);
}

// Bits of a dynamic entry's tag; the low byte is the token.
constexpr unsigned name_is_valid_bit = 0x100;
constexpr unsigned value_is_valid_bit = 0x200;

std::uint16_t line_tag(const FieldLine& line) noexcept {
  return static_cast<std::uint16_t>(static_cast<unsigned>(line.token) |
                                    (line.name_is_valid ? name_is_valid_bit : 0) |
                                    (line.value_is_valid ? value_is_valid_bit : 0));
}

void take_name(const DynamicTable::Entry& entry, FieldLine& line) noexcept {
  line.name = entry.name();
  line.token = static_cast<Token>(entry.tag & 0xff);
  line.name_is_valid = (entry.tag & name_is_valid_bit) != 0;
  line.name_is_static = false;
}

}  // namespace

Decoder::Decoder(std::uint32_t table_bytes_max) : table_(table_bytes_max) {
  // We may allow a larger table, but only the peer can announce it (RFC 7541, 4.2).
  if (table_bytes_max > initial_table_bytes) table_.resize(initial_table_bytes);
}

void Decoder::begin(std::string_view block) noexcept {
  cursor_ = block.data();
  end_ = cursor_ + block.size();
  updates_end_ = cursor_;
}

// RFC 7541, 6.1.
inline bool Decoder::read_indexed(FieldLine& line) noexcept {
  std::uint32_t index = 0;
  if (!decode_integer(cursor_, end_, 7, index)) return false;
  if (index - 1 < static_count) {
    line = static_lines[index];
    return true;
  }
  index -= static_count + 1;  // 0 wraps to a large value and is rejected
  if (index >= table_.count()) return false;
  const DynamicTable::Entry entry = table_.at(index);
  take_name(entry, line);
  line.value = entry.value();
  line.value_is_valid = (entry.tag & value_is_valid_bit) != 0;
  line.is_static = false;
  line.never_indexed = false;
  return true;
}

// The first bits tell the representation (RFC 7541, 6): 1 indexed, 01 literal that is inserted,
// 001 size update, 0001 literal never indexed, 0000 literal not inserted.
Decoder::Verdict Decoder::next(FieldLine& line) {
  while (cursor_ != end_) {
    const char* const begin = cursor_;
    const auto first = static_cast<unsigned char>(*begin);
    bool good = false;
    if (first >= 0x80) {
      good = read_indexed(line);
    } else if ((first & 0xe0U) != 0x20) {
      good = read_literal(line);
    } else if (read_table_size()) {
      continue;
    }
    if (good) [[likely]]
      return Verdict::line;
    cursor_ = begin;  // the cursor stays here, so later calls fail too
    return Verdict::malformed;
  }
  return Verdict::end;
}

// RFC 7541, 6.2.
bool Decoder::read_literal(FieldLine& line) {
  const auto first = static_cast<unsigned char>(*cursor_);
  const bool insert = (first & 0x40U) != 0;
  std::uint32_t index = 0;
  if (!decode_integer(cursor_, end_, insert ? 6 : 4, index)) return false;
  // Enough for two strings from the rest of the block and for the name of an entry.
  const auto left = static_cast<std::size_t>(end_ - cursor_);
  char* room = scratch.take(huffman_room(left) + huffman_room(0) + table_.limit_bytes());
  if (!read_name(index, line, room) || !read_string(line.value, room)) return false;
  line.value_is_valid = is_valid_value(line.value);
  line.is_static = false;
  line.never_indexed = (first & 0xf0U) == 0x10;
  if (!insert) return true;
  // The insertion may evict the entry that holds the name (4.4). An empty name is not copied: if
  // all entries are empty the table has no buffer, and memcpy() from null is undefined.
  if (index > static_count && !line.name.empty()) {
    std::memcpy(room, line.name.data(), line.name.size());
    line.name = {room, line.name.size()};
  }
  ++version_;
  table_.insert(line.name, line.value, line_tag(line));
  return true;
}

bool Decoder::read_name(std::uint32_t index, FieldLine& line, char*& room) noexcept {
  if (index == 0) {
    if (!read_string(line.name, room)) return false;
    line.token = token_of(line.name);
    const bool is_known = line.token != Token::none && line.token != Token::other_pseudo;
    line.name_is_valid = is_known || is_valid_name(line.name);
    line.name_is_static = false;
    return true;
  }
  if (index <= static_count) {
    const StaticEntry& entry = static_table[index];
    line.name = entry.name;
    line.token = entry.token;
    line.name_is_valid = true;
    line.name_is_static = true;
    return true;
  }
  index -= static_count + 1;
  if (index >= table_.count()) return false;
  take_name(table_.at(index), line);
  return true;
}

// RFC 7541, 5.2.
bool Decoder::read_string(std::string_view& text, char*& room) noexcept {
  if (cursor_ == end_) return false;
  const bool is_huffman = (static_cast<unsigned char>(*cursor_) & 0x80U) != 0;
  std::uint32_t size = 0;
  if (!decode_integer(cursor_, end_, 7, size)) return false;
  if (size > static_cast<std::size_t>(end_ - cursor_)) return false;
  text = {cursor_, size};
  cursor_ += size;
  if (!is_huffman) return true;
  char* const begin = room;
  room = huffman_decode(begin, text);
  if (room == nullptr) return false;
  text = {begin, static_cast<std::size_t>(room - begin)};
  return true;
}

// RFC 7541, 6.3 and 4.2: only before the first field, and not above our limit.
bool Decoder::read_table_size() noexcept {
  std::uint32_t size = 0;
  if (cursor_ != updates_end_ || !decode_integer(cursor_, end_, 5, size)) return false;
  if (size > table_.limit_bytes()) return false;
  ++version_;
  table_.resize(size);
  updates_end_ = cursor_;
  return true;
}

}  // namespace h2server::http::h2::hpack
