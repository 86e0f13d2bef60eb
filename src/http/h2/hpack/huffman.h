// The Huffman code of HPACK (RFC 7541, 5.2 and appendix B).
#pragma once

#include <cstddef>
#include <string_view>

namespace h2server::http::h2::hpack {

// How many bytes huffman_encode() makes of `text`.
std::size_t huffman_size(std::string_view text) noexcept;

// Writes huffman_size(text) bytes, not one more; returns their end.
char* huffman_encode(char* out, std::string_view text) noexcept;

// Room that huffman_decode() wants for `size` bytes of code: the shortest code has five bits, and
// it writes two characters where only one may count.
constexpr std::size_t huffman_room(std::size_t size) noexcept { return size * 8 / 5 + 2; }

// Returns the end of the text; nullptr when the code has EOS in it, ends within a symbol, or is
// padded by more than seven bits or by others than ones.
char* huffman_decode(char* out, std::string_view code) noexcept;

}  // namespace h2server::http::h2::hpack
