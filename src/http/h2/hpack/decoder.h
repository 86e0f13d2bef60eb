// Decoder of field blocks (RFC 7541), one for each connection. What a list of fields must be for a
// request is not its matter; that a name and a value are well-formed (RFC 9113, 8.2.1) is told with
// each line, since of an indexed line it is known already.
//
// Not thread-safe. Until the peer fills the dynamic table it holds no memory beyond itself; where a
// Huffman code is unpacked belongs to the thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "http/h2/hpack/dynamic_table.h"
#include "http/h2/hpack/token.h"

namespace h2server::http::h2::hpack {

struct FieldLine {
  // Valid until the next call of any decoder of this thread, and as long as the block.
  std::string_view name;
  std::string_view value;
  Token token = Token::none;    // of the name
  bool name_is_valid = false;   // characters of a token, none in upper case, maybe after a ':'
  bool value_is_valid = false;  // no control character, no space or tab at either end
  bool is_static = false;       // name and value live for ever
  bool name_is_static = false;  // the name does
  bool never_indexed = false;   // RFC 7541, 6.2.3: not to be indexed by who passes it on
};

class Decoder {
 public:
  // What our SETTINGS_HEADER_TABLE_SIZE says, 64 KiB at most. Less than 4096 counts at once, while
  // a peer that has not seen our SETTINGS yet takes 4096 (RFC 9113, 6.5.2).
  explicit Decoder(std::uint32_t table_bytes_max = 4096);

  // A whole field block, its CONTINUATIONs joined. It must live until the last next().
  void begin(std::string_view block) noexcept;

  // malformed: a connection error of type COMPRESSION_ERROR; it is what every further call says.
  enum class Verdict : std::uint8_t { line, end, malformed };
  Verdict next(FieldLine& line);

  // Of the heap; the thread's memory is not counted.
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return table_.memory_bytes(); }

 private:
  bool read_indexed(FieldLine& line) noexcept;
  bool read_literal(FieldLine& line);
  bool read_name(std::uint32_t index, FieldLine& line, char*& room) noexcept;
  bool read_string(std::string_view& text, char*& room) noexcept;
  bool read_table_size() noexcept;

  DynamicTable table_;
  const char* cursor_ = nullptr;
  const char* end_ = nullptr;
  const char* updates_end_ = nullptr;  // of the size updates that begin the block
};

}  // namespace h2server::http::h2::hpack
