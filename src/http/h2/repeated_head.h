// RepeatedHead: the request head of a field block that a connection sends again and again, as
// clients do that poll, and those of an API. Such a block is not decoded and checked again.
//
// What a block means depends on its bytes and on the decoder's dynamic table alone (RFC 7541, 2.2),
// so a head is used again only for equal bytes on the same connection while the table is as it was.
// One per thread, with the head of one connection: streams of a connection arrive together.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "http/h2/h2_exchange.h"

namespace h2server::http::h2 {

class RepeatedHead {
 public:
  // What a block's meaning depends on.
  struct Context {
    std::uint64_t connection = 0;  // of next_connection(); 0: none
    std::uint64_t table = 0;       // Decoder::version()

    bool operator==(const Context&) const = default;
  };

  // Returns a number that no other connection of the process has. Any thread.
  static std::uint64_t next_connection() noexcept;
  // Returns the thread's.
  static RepeatedHead& of_thread();

  // Returns false for a while after several blocks that did not repeat: then restore() and note()
  // would only cost.
  bool may_repeat() noexcept { return pause_ == 0 || --pause_ == 0; }
  // Sets the head and the priority of `exchange`, which has none, if they are known. Otherwise
  // returns false.
  bool restore(const Context& context, std::string_view block, H2Exchange& exchange) const;
  // Call when `exchange` has the well-formed head that `block` means, and the block has not changed
  // the table. Keeps it if this block was the last one, too: most blocks occur once. Ignores heads
  // with Content-Length or Expect and heads that are too large: restore() can't rebuild them.
  void note(const Context& context, std::string_view block, const H2Exchange& exchange);

 private:
  static constexpr std::size_t block_bytes_max = 64;  // of indices, mostly
  static constexpr std::size_t text_bytes_max = 2048;
  static constexpr std::uint8_t misses_max = 4;
  static constexpr std::uint8_t pause_blocks = 60;

  void keep(const H2Exchange& exchange);

  Context context_;
  std::array<char, block_bytes_max> block_{};
  std::size_t block_size_ = 0;  // 0: none
  std::uint8_t misses_ = 0;     // blocks in a row that did not repeat
  std::uint8_t pause_ = 0;      // 0 if none; the block that makes it 0 is looked at
  bool kept_ = false;           // all below is that block's
  Method method_ = Method::unknown;
  Priority priority_;
  std::string text_;                  // the method, the target, the authority, names and values
  std::vector<std::uint16_t> sizes_;  // of these
};

}  // namespace h2server::http::h2
