// Encoder of field blocks (RFC 7541), one for each connection. It chooses what to index.
//
// Not thread-safe. Allocates nothing until the first insertion, and then only while the table
// grows.
//
// A field that either table has is sent as its index. Credentials are never indexed. A field larger
// than a quarter of the table is not inserted. A field whose value tends to differ in each response
// is inserted when it occurs a second time. All others are inserted at once. Strings are
// Huffman-coded if that is shorter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "h2server/message.h"
#include "http/h2/hpack/dynamic_table.h"

namespace h2server::http::h2::hpack {

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

  // Both return the new end. `name` must be in lower case. The strings are copied.
  char* begin_block(char* out) noexcept;
  char* encode(char* out, std::string_view name, std::string_view value);

  // Changes when an index may have changed its meaning, and when a size update is pending or
  // written. If it is the same before begin_block() and after the last encode(), the block may be
  // sent again until the version changes.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  // Heap memory.
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return table_.memory_bytes(); }

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

  char* encode_unknown(char* out, std::string_view name, std::string_view value,
                       std::uint32_t hash);
  char* encode_literal(char* out, std::string_view name, std::string_view value,
                       std::uint32_t hash);

  DynamicTable table_{table_bytes_max};
  Hints hints_;
  Seen seen_;
  std::optional<std::uint32_t> announced_min_;  // smallest size since the last block
  std::uint64_t version_ = 0;
};

}  // namespace h2server::http::h2::hpack
