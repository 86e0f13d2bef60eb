// The Huffman code of HPACK (RFC 7541, 5.2 and appendix B).
#pragma once

#include <cstddef>
#include <string_view>

namespace h2server::http::h2::hpack {

// Returns the number of bytes that huffman_encode() writes for `text`.
std::size_t huffman_size(std::string_view text) noexcept;

// Writes exactly huffman_size(text) bytes and returns their end.
char* huffman_encode(char* out, std::string_view text) noexcept;

// Room that huffman_decode() needs for `size` bytes of code: the shortest code has five bits, and
// the decoder writes two characters even if only one counts.
constexpr std::size_t huffman_room(std::size_t size) noexcept { return size * 8 / 5 + 2; }

// Returns the end of the text, or null if the code contains EOS, ends within a symbol, or has
// padding of more than seven bits or with zeros.
char* huffman_decode(char* out, std::string_view code) noexcept;

}  // namespace h2server::http::h2::hpack
