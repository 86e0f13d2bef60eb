// Encoder of field blocks (RFC 7541), one for each connection. It chooses what to index.
//
// Not thread-safe. Allocates nothing until the first insertion, and then only while the table
// grows.
//
// A field that either table has is sent as its index. Credentials are never indexed. A field larger
// than a quarter of the table is not inserted. A field whose value tends to differ in each response
// is inserted when it occurs a second time. All others are inserted at once. Strings are
// Huffman-coded if that is shorter.
//
// The fields of a group are inserted together, and only while few groups are in the table: one of
// many files would evict the fields of the others. Other groups are sent as literals, which are the
// same for every connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/message.h"
#include "http/h2/hpack/dynamic_table.h"

namespace h2server::http::h2::hpack {

// A field that many heads have, hashed once. Immutable. Its strings must outlive it.
struct HashedField {
  // `field.name` must be in lower case and not begin with ':'.
  explicit HashedField(const Field& field) noexcept;

  Field field;
  std::uint32_t hash;
};

// Fields that occur together, such as those by which a file differs from others. Immutable.
struct Group {
  // Of the table, at most. A file's takes about 190, which leaves room for the fields of all heads.
  static constexpr std::uint32_t bytes_max = 256;

  std::uint64_t id = 0;  // equal numbers mean equal fields; not 0
  std::vector<Field> fields;
  std::string literals;  // encoded without indexing (RFC 7541, 6.2.2)
};
// At least one field, with names in the static table, whose strings must outlive the group.
Group group_of(std::uint64_t id, std::vector<Field> fields);

class Encoder {
 public:
  // Every peer's table size before its SETTINGS (RFC 9113, 6.5.2), and enough for responses.
  static constexpr std::uint32_t table_bytes_max = 4096;

  // Applies the peer's SETTINGS_HEADER_TABLE_SIZE. The next block announces a change.
  void set_table_bytes_max(std::uint32_t bytes) noexcept;

  // Maximum bytes that encode() writes for the field: an index and two sizes besides the strings.
  static std::size_t bound(const Field& field) noexcept {
    return field.name.size() + field.value.size() + 16;
  }
  // Maximum that begin_block() writes: two size updates.
  static constexpr std::size_t block_head_bytes_max = 6;

  // All return the new end. `name` must be in lower case. The strings are copied.
  char* begin_block(char* out) noexcept;
  char* encode(char* out, std::string_view name, std::string_view value);
  char* encode(char* out, const HashedField& hashed) {
    return encode_hashed(out, hashed.field.name, hashed.field.value, hashed.hash);
  }
  // Writes at most as many bytes as `group.literals` has.
  char* encode(char* out, const Group& group);

  // Changes when an index may have changed its meaning, and when a size update is pending or
  // written. If it is the same before begin_block() and after the last encode(), the block may be
  // sent again until the version changes.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  // Heap memory.
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return table_.memory_bytes() + (places_ != nullptr ? sizeof(Places) : 0);
  }

 private:
  // Hashes of fields that occurred once; the newest replaces the oldest. A false positive only
  // causes an early insertion.
  class Seen {
   public:
    // Returns true if `hash` was there; otherwise adds it.
    bool check_and_add(std::uint16_t hash) noexcept;

   private:
    std::array<std::uint16_t, 16> hashes_{};
    std::uint8_t next_ = 0;
  };

  // By hash, where an entry may be: the last two numbers added, modulo 256. A table of 4096 bytes
  // has at most 128 entries. If neither matches, the whole table is searched.
  class Hints {
   public:
    [[nodiscard]] std::array<std::uint8_t, 2> of(std::uint32_t hash) const noexcept {
      return pairs_[hash % pairs_.size()];
    }
    void add(std::uint32_t hash, std::uint32_t number) noexcept {
      std::array<std::uint8_t, 2>& pair = pairs_[hash % pairs_.size()];
      pair = {static_cast<std::uint8_t>(number), pair[0]};
    }

   private:
    std::array<std::array<std::uint8_t, 2>, 64> pairs_{};
  };

  // Where a group was inserted. Another one takes the place when that one has been evicted.
  struct Place {
    std::uint64_t id = 0;      // 0: none
    std::uint32_t number = 0;  // of its first entry
  };
  using Places = std::array<Place, table_bytes_max / Group::bytes_max>;

  char* insert(char* out, const Group& group, std::size_t at);
  char* encode_hashed(char* out, std::string_view name, std::string_view value, std::uint32_t hash);
  char* encode_unknown(char* out, std::string_view name, std::string_view value,
                       std::uint32_t hash);
  char* encode_literal(char* out, std::string_view name, std::string_view value,
                       std::uint32_t hash);

  DynamicTable table_{table_bytes_max};
  Hints hints_;
  Seen seen_;
  std::unique_ptr<Places> places_;              // by the group's number; null until one is inserted
  std::optional<std::uint32_t> announced_min_;  // smallest size since the last block
  std::uint64_t version_ = 0;
};

}  // namespace h2server::http::h2::hpack
