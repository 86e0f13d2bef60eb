// Decoder of field blocks (RFC 7541), one for each connection. It does not check whether the fields
// form a request. It reports with each line whether name and value are well-formed (RFC 9113,
// 8.2.1), which is already known for an indexed line.
//
// Not thread-safe. Allocates nothing until the peer fills the dynamic table, except in a buffer of
// the thread for unpacked Huffman codes.
#pragma once

#include <cstdint>
#include <string_view>

#include "http/h2/hpack/dynamic_table.h"
#include "http/h2/hpack/token.h"

namespace h2server::http::h2::hpack {

struct FieldLine {
  // Valid until the next call of any decoder on this thread, and only while the block lives.
  std::string_view name;
  std::string_view value;
  Token token = Token::none;    // of the name
  bool name_is_valid = false;   // token characters without upper case, after an optional ':'
  bool value_is_valid = false;  // no control character, no space or tab at either end
  bool is_static = false;       // name and value have static lifetime
  bool name_is_static = false;  // the name has static lifetime
  bool never_indexed = false;   // RFC 7541, 6.2.3: intermediaries must not index it
};

class Decoder {
 public:
  // `table_bytes_max` is our SETTINGS_HEADER_TABLE_SIZE, 64 KiB at most. A value below 4096 applies
  // at once, although a peer that has not seen our SETTINGS assumes 4096 (RFC 9113, 6.5.2).
  explicit Decoder(std::uint32_t table_bytes_max = 4096);

  // Begins a whole field block, its CONTINUATIONs joined. It must live until the last next().
  void begin(std::string_view block) noexcept;

  // malformed: a connection error of type COMPRESSION_ERROR. Further calls return it too.
  enum class Verdict : std::uint8_t { line, end, malformed };
  Verdict next(FieldLine& line);

  // Changes when an index may have changed its meaning: a block that leaves it the same means the
  // same again until it changes.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  // Heap memory, without the thread's buffer.
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return table_.memory_bytes(); }

 private:
  bool read_indexed(FieldLine& line) noexcept;
  bool read_literal(FieldLine& line);
  bool read_name(std::uint32_t index, FieldLine& line, char*& room) noexcept;
  bool read_string(std::string_view& text, char*& room) noexcept;
  bool read_table_size() noexcept;

  DynamicTable table_;
  std::uint64_t version_ = 0;
  const char* cursor_ = nullptr;
  const char* end_ = nullptr;
  const char* updates_end_ = nullptr;  // of the size updates at the start of the block
};

}  // namespace h2server::http::h2::hpack
