#include "http/h2/hpack/encoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "http/h2/hpack/bytes.h"
#include "http/h2/hpack/huffman.h"
#include "http/h2/hpack/integer.h"
#include "http/h2/hpack/static_table.h"
#include "http/h2/hpack/token.h"

namespace h2server::http::h2::hpack {

namespace {

// First bits of the representations (RFC 7541, 6) and the size of their prefix in bits.
struct Representation {
  unsigned flags;
  unsigned prefix_bits;
};
constexpr Representation indexed = {0x80, 7};
constexpr Representation inserted = {0x40, 6};
constexpr Representation size_update = {0x20, 5};
constexpr Representation never_indexed = {0x10, 4};
constexpr Representation not_inserted = {0x00, 4};

char* write(char* out, Representation representation, std::uint32_t value) noexcept {
  return encode_integer(out, representation.flags, representation.prefix_bits, value);
}

// RFC 7541, 7.1.3: an attacker who can choose values next to a secret one could guess it by the
// sizes of blocks.
constexpr bool is_credential(Token token) noexcept {
  return token == Token::authorization || token == Token::proxy_authorization ||
         token == Token::cookie || token == Token::set_cookie;
}

constexpr bool tends_to_change(Token token) noexcept {
  return token == Token::content_length || token == Token::etag || token == Token::last_modified ||
         token == Token::content_range || token == Token::location || token == Token::age ||
         token == Token::content_disposition;
}

// Returns the last eight bytes of `text`, or a mix of the bytes of a shorter one.
inline std::uint64_t tail(std::string_view text) noexcept {
  const std::size_t size = text.size();
  if (size >= 8) return load<std::uint64_t>(text.data() + size - 8);
  if (size >= 4) {
    return std::uint64_t{load<std::uint32_t>(text.data())} << 32 |
           load<std::uint32_t>(text.data() + size - 4);
  }
  std::uint64_t word = size;
  for (const char c : text) word = word << 8 | static_cast<unsigned char>(c);
  return word;
}

// Hashes only sizes and ends, in a few cycles. Matches in the table are compared byte by byte.
inline std::uint32_t hash_of(std::string_view name, std::string_view value) noexcept {
  std::uint64_t mix = (tail(name) ^ name.size()) * 0x9e3779b97f4a7c15;
  mix = ((mix ^ mix >> 29) + tail(value) + value.size()) * 0xbf58476d1ce4e5b9;
  if (value.size() > 8)
    mix = (mix ^ mix >> 31 ^ load<std::uint64_t>(value.data())) * 0x94d049bb133111eb;
  return static_cast<std::uint32_t>(mix >> 32);
}

std::uint16_t tag_of(std::uint32_t hash) noexcept { return static_cast<std::uint16_t>(hash >> 16); }

// RFC 7541, 5.2.
char* write_string(char* out, std::string_view text) noexcept {
  const std::size_t packed = huffman_size(text);
  if (packed < text.size()) {
    out = encode_integer(out, 0x80, 7, static_cast<std::uint32_t>(packed));
    return huffman_encode(out, text);
  }
  out = encode_integer(out, 0, 7, static_cast<std::uint32_t>(text.size()));
  if (!text.empty()) std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

// Returns the index of that line in the static table, or 0.
std::uint32_t find_static(Token token, std::string_view value) noexcept {
  std::uint32_t index = static_index_of_name[static_cast<std::size_t>(token)];
  if (index == 0) return 0;
  for (; index <= static_count && static_table[index].token == token; ++index) {
    const std::string_view known = static_table[index].value;
    if (known.size() == value.size() && same_bytes(known.data(), value.data(), value.size())) {
      return index;
    }
  }
  return 0;
}

// Compares the name last, since it differs more rarely.
inline bool is_line(const DynamicTable::Entry& entry, std::string_view name,
                    std::string_view value) noexcept {
  return entry.name_size == name.size() && entry.value_size == value.size() &&
         same_bytes(entry.bytes + entry.name_size, value.data(), value.size()) &&
         same_bytes(entry.bytes, name.data(), name.size());
}

// Returns the age of that line in the table, or count() if there is none.
std::uint32_t find_line(const DynamicTable& table, std::string_view name, std::string_view value,
                        std::uint16_t tag) noexcept {
  std::uint32_t age = table.find(0, name.size(), value.size(), tag);
  while (age != table.count() && !is_line(table.at(age), name, value)) {
    age = table.find(age + 1, name.size(), value.size(), tag);
  }
  return age;
}

// Returns the index of an entry with that name, or 0.
std::uint32_t find_name(const DynamicTable& table, std::string_view name) noexcept {
  for (std::uint32_t age = 0; age < table.count(); ++age) {
    const DynamicTable::Entry entry = table.at(age);
    if (entry.name_size == name.size() && same_bytes(entry.bytes, name.data(), name.size())) {
      return static_count + 1 + age;
    }
  }
  return 0;
}

// Returns the index of a field with that name in the static table, or 0.
std::uint32_t static_index_of(std::string_view name) noexcept {
  return static_index_of_name[static_cast<std::size_t>(token_of(name))];
}

}  // namespace

HashedField::HashedField(const Field& hashed) noexcept
    : field(hashed), hash(hash_of(hashed.name, hashed.value)) {}

Group group_of(std::uint64_t id, std::vector<Field> fields) {
  Group group{id, std::move(fields), std::string()};
  ASSERT(id != 0 && !group.fields.empty());
  std::uint64_t bytes = 0;
  for (const Field& field : group.fields) {
    bytes += DynamicTable::entry_bytes(field.name, field.value);
    const std::uint32_t index = static_index_of(field.name);
    ASSERT(index != 0);
    std::string& to = group.literals;
    const std::size_t begin = to.size();
    to.resize(begin + Encoder::bound(field));
    char* const end = write_string(write(to.data() + begin, not_inserted, index), field.value);
    to.resize(static_cast<std::size_t>(end - to.data()));
  }
  ASSERT(bytes <= Group::bytes_max);
  return group;
}

bool Encoder::Seen::check_and_add(std::uint16_t hash) noexcept {
  if (std::ranges::find(hashes_, hash) != hashes_.end()) return true;
  hashes_[next_++ % hashes_.size()] = hash;
  return false;
}

void Encoder::set_table_bytes_max(std::uint32_t bytes) noexcept {
  const std::uint32_t size = std::min(bytes, table_bytes_max);
  if (size == table_.bytes_max()) return;
  table_.resize(size);
  announced_min_ = std::min(size, announced_min_.value_or(size));
  ++version_;
}

// RFC 7541, 4.2: the smallest size since the last block, then the current one.
char* Encoder::begin_block(char* out) noexcept {
  if (!announced_min_) [[likely]]
    return out;
  if (*announced_min_ < table_.bytes_max()) out = write(out, size_update, *announced_min_);
  out = write(out, size_update, table_.bytes_max());
  announced_min_.reset();
  ++version_;
  return out;
}

char* Encoder::encode(char* out, std::string_view name, std::string_view value) {
  if (name.starts_with(':')) {  // mostly ":status", mostly in the static table
    const std::uint32_t index = find_static(token_of(name), value);
    if (index != 0) return write(out, indexed, index);
  }
  return encode_hashed(out, name, value, hash_of(name, value));
}

char* Encoder::encode_hashed(char* out, std::string_view name, std::string_view value,
                             std::uint32_t hash) {
  const std::uint32_t newest = table_.inserted() - 1;
  for (const std::uint8_t number : hints_.of(hash)) {
    const std::uint32_t age = (newest - number) % 256;
    if (age < table_.count() && is_line(table_.at(age), name, value)) [[likely]] {
      return write(out, indexed, static_count + 1 + age);
    }
  }
  return encode_unknown(out, name, value, hash);
}

char* Encoder::encode(char* out, const Group& group) {
  const std::size_t at = group.id % std::tuple_size_v<Places>;
  const Place place = places_ != nullptr ? (*places_)[at] : Place();
  const std::uint32_t age = table_.inserted() - 1 - place.number;
  const bool live = place.id != 0 && age < table_.count();  // the first entry is evicted first
  if (live && place.id == group.id) {
    std::uint32_t index = static_count + 1 + age;
    for (std::size_t i = 0; i < group.fields.size(); ++i) out = write(out, indexed, index--);
    return out;
  }
  if (!live && at < table_.bytes_max() / Group::bytes_max) return insert(out, group, at);
  std::memcpy(out, group.literals.data(), group.literals.size());
  return out + group.literals.size();
}

char* Encoder::insert(char* out, const Group& group, std::size_t at) {
  if (places_ == nullptr) places_ = std::make_unique<Places>();
  (*places_)[at] = {group.id, table_.inserted()};
  ++version_;
  for (const Field& field : group.fields) {
    out = write_string(write(out, inserted, static_index_of(field.name)), field.value);
    table_.insert(field.name, field.value, tag_of(hash_of(field.name, field.value)));
  }
  return out;
}

char* Encoder::encode_unknown(char* out, std::string_view name, std::string_view value,
                              std::uint32_t hash) {
  const std::uint32_t age = find_line(table_, name, value, tag_of(hash));
  if (age == table_.count()) return encode_literal(out, name, value, hash);
  hints_.add(hash, table_.inserted() - 1 - age);
  return write(out, indexed, static_count + 1 + age);
}

char* Encoder::encode_literal(char* out, std::string_view name, std::string_view value,
                              std::uint32_t hash) {
  const Token token = token_of(name);
  if (const std::uint32_t index = find_static(token, value)) {
    return write(out, indexed, index);
  }
  Representation representation = not_inserted;
  if (is_credential(token)) {
    representation = never_indexed;
  } else if (DynamicTable::entry_bytes(name, value) <= table_.bytes_max() / 4) {
    // A larger field would evict many entries that are used more often.
    if (!tends_to_change(token) || seen_.check_and_add(tag_of(hash))) representation = inserted;
  }
  std::uint32_t index = static_index_of_name[static_cast<std::size_t>(token)];
  if (index == 0) index = find_name(table_, name);
  out = write(out, representation, index);
  if (index == 0) out = write_string(out, name);
  out = write_string(out, value);
  if (representation.flags == inserted.flags) {
    hints_.add(hash, table_.inserted());
    table_.insert(name, value, tag_of(hash));
    ++version_;
  }
  return out;
}

}  // namespace h2server::http::h2::hpack
