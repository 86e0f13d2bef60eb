// Encoder of field blocks (RFC 7541), one for each connection, that chooses what to index.
//
// Not thread-safe. Holds no memory beyond itself until the first insertion; allocates only while
// the table grows.
//
// What it does with a field: one that either table has is its index. Credentials are never indexed.
// A field whose value tends to be another for each response is inserted when it comes a second
// time. Everything else is inserted at once. Strings are Huffman-coded where that is shorter.
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
  // What every peer offers before it says otherwise (RFC 9113, 6.5.2), and enough for responses.
  static constexpr std::uint32_t table_bytes_max = 4096;

  // The peer's SETTINGS_HEADER_TABLE_SIZE. The next block announces what changes.
  void set_table_bytes_max(std::uint32_t bytes) noexcept;

  // Most bytes that encode() writes for the field: an index and two sizes beside the strings.
  static std::size_t bound(const Field& field) noexcept {
    return field.name.size() + field.value.size() + 16;
  }
  // Most that begin_block() writes: two size updates.
  static constexpr std::size_t block_head_bytes_max = 6;

  // Both return the new end. A name is in lower case; its bytes and the value's are copied.
  char* begin_block(char* out) noexcept;
  char* encode(char* out, std::string_view name, std::string_view value);

  // Changes whenever an index may have come to mean something else, and when a size update waits or
  // is written. So when it is the same before begin_block() and after the last encode(), the block
  // may be sent again as it is while it stays the same.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  // Of the heap.
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return table_.memory_bytes(); }

 private:
  // Hashes of pairs that came once. Old ones are forgotten in turn; one that is there by accident
  // costs an insertion too early.
  class Seen {
   public:
    // Whether it came before; from now on it did.
    bool check_and_add(std::uint16_t hash) noexcept;

   private:
    std::array<std::uint16_t, 16> hashes_{};
    std::uint8_t next_ = 0;
  };

  // By hash, where an entry may be: its number modulo 256, of which a table of 4096 bytes has 128
  // at once at most. A hint, in two places for each; who is in neither is searched for.
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
  std::optional<std::uint32_t> announced_min_;  // the least size since the last block
  std::uint64_t version_ = 0;
};

}  // namespace h2server::http::h2::hpack
