// DynamicTable: the dynamic table of HPACK (RFC 7541, 2.3.2 and 4), of the decoder and of the
// encoder. Not thread-safe.
//
// Allocates nothing until the first insertion, then grows by doubling, up to a fixed limit. The
// bytes of all entries are contiguous, oldest first. When they reach the end of the buffer they are
// moved to its start. Once the table evicts, each byte inserted costs about one byte moved.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace h2server::http::h2::hpack {

class DynamicTable {
 public:
  static constexpr std::uint32_t entry_overhead_bytes = 32;    // RFC 7541, 4.1
  static constexpr std::uint32_t limit_bytes_max = 64 * 1024;  // offsets and sizes have 16 bits

  // Starts with size `limit_bytes`, which is also the maximum for resize().
  explicit DynamicTable(std::uint32_t limit_bytes);

  // Valid until the next insert() or resize(). Scalars, not views: GCC 12 copies views through the
  // stack, where a load of 16 bytes stalls on two stores of 8, at each indexed field.
  struct Entry {
    const char* bytes;  // the name, then the value
    std::uint32_t name_size;
    std::uint32_t value_size;
    std::uint16_t tag;  // as given to insert()

    [[nodiscard]] std::string_view name() const noexcept { return {bytes, name_size}; }
    [[nodiscard]] std::string_view value() const noexcept {
      return {bytes + name_size, value_size};
    }
  };
  // Age 0 is the newest entry; `age` must be less than count().
  [[nodiscard]] Entry at(std::uint32_t age) const noexcept {
    const Record& record = record_at(age);
    return {place(record), record.name_size, record.value_size, record.tag};
  }
  // Returns the age of the newest entry with these sizes and this tag, from `age` on, or count()
  // if there is none.
  [[nodiscard]] std::uint32_t find(std::uint32_t age, std::size_t name_size, std::size_t value_size,
                                   std::uint16_t tag) const noexcept;

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  // Number of insertions so far, modulo 2^32. The newest entry has number inserted() - 1.
  [[nodiscard]] std::uint32_t inserted() const noexcept { return inserted_; }
  // The size as RFC 7541, 4.1 defines it.
  [[nodiscard]] std::uint32_t bytes() const noexcept {
    return live_ + count_ * entry_overhead_bytes;
  }
  [[nodiscard]] std::uint32_t bytes_max() const noexcept { return bytes_max_; }
  [[nodiscard]] std::uint32_t limit_bytes() const noexcept { return limit_; }

  static std::uint64_t entry_bytes(std::string_view name, std::string_view value) noexcept {
    return std::uint64_t{name.size()} + value.size() + entry_overhead_bytes;
  }

  // Evicts entries that no longer fit. Size 0 releases all memory.
  void resize(std::uint32_t bytes_max) noexcept;
  // `name` and `value` must not point into the table. An entry that is larger than the table
  // empties it (RFC 7541, 4.4).
  void insert(std::string_view name, std::string_view value, std::uint16_t tag);

  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return capacity_ + records_capacity_ * sizeof(Record);
  }

 private:
  struct Record {
    std::uint16_t offset;  // of the name plus base_, modulo 2^16: constant when bytes move
    std::uint16_t name_size;
    std::uint16_t value_size;
    std::uint16_t tag;
  };

  [[nodiscard]] const Record& record_at(std::uint32_t age) const noexcept {
    return records_[(inserted_ - 1 - age) & (records_capacity_ - 1)];
  }
  [[nodiscard]] const char* place(const Record& record) const noexcept {
    return buffer_.get() + static_cast<std::uint16_t>(record.offset - base_);
  }
  void evict_down_to(std::uint32_t bytes) noexcept;
  void make_room(std::uint32_t size);
  void grow_records();

  std::unique_ptr<char[]> buffer_;
  std::unique_ptr<Record[]> records_;  // a ring, indexed by number of the entry
  std::uint32_t capacity_ = 0;
  std::uint32_t records_capacity_ = 0;  // a power of two, or 0
  std::uint32_t begin_ = 0;             // of the oldest entry, in buffer_
  std::uint32_t live_ = 0;              // bytes of all entries, from begin_ on
  std::uint32_t count_ = 0;
  std::uint32_t inserted_ = 0;
  std::uint32_t bytes_max_;
  std::uint32_t limit_;
  std::uint16_t base_ = 0;  // an entry is at its offset minus this
};

}  // namespace h2server::http::h2::hpack
