#include "http/h2/hpack/huffman.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "http/h2/hpack/bytes.h"

namespace h2server::http::h2::hpack {

namespace {

constexpr unsigned eos = 256;
constexpr unsigned symbol_count = 257;
constexpr unsigned code_bits_max = 30;

// Bits of each symbol's code (RFC 7541, appendix B), EOS last. The code is canonical, so they tell
// all of it: codes ascend by length, then by symbol.
constexpr std::array<std::uint8_t, symbol_count> code_bits = {
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6,  10, 10, 12, 13, 6,  8,  11, 10, 10, 8,  11, 8,  6,  6,  6,
    5,  5,  5,  6,  6,  6,  6,  6,  6,  6,  7,  8,  15, 6,  12, 10, 13, 6,  7,  7,  7,  7,  7,  7,
    7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  8,  7,  8,  13, 19, 13, 14, 6,
    15, 5,  6,  5,  6,  5,  6,  6,  6,  5,  7,  7,  6,  6,  6,  5,  6,  7,  6,  5,  5,  6,  7,  7,
    7,  7,  7,  15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
    23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
    21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30};

struct Code {
  std::array<std::uint32_t, symbol_count> codes{};     // right-aligned
  std::array<std::uint16_t, symbol_count> symbols{};   // in the order of their codes
  std::array<std::uint32_t, code_bits_max + 1> first;  // by length: left-aligned in 32 bits
  // By length: left-aligned, the first code that is longer.
  std::array<std::uint64_t, code_bits_max + 1> limits;
  std::array<std::uint16_t, code_bits_max + 1> places;  // by length: of the first, in `symbols`
};

constexpr Code code = [] {
  Code made{};
  std::uint32_t next = 0;
  std::uint16_t place = 0;
  for (unsigned bits = 1; bits <= code_bits_max; ++bits) {
    next <<= 1;
    made.first[bits] = next << (32 - bits);
    made.places[bits] = place;
    for (unsigned symbol = 0; symbol < symbol_count; ++symbol) {
      if (code_bits[symbol] != bits) continue;
      made.codes[symbol] = next++;
      made.symbols[place++] = static_cast<std::uint16_t>(symbol);
    }
    made.limits[bits] = std::uint64_t{next} << (32 - bits);
  }
  return made;
}();
static_assert(code.codes[eos] == 0x3fffffff, "all ones, so padding is a prefix of EOS");

// What the next bits say: one symbol, two where both fit, or that the code is longer.
// 1024 steps of 4 bytes: 9 bits find fewer pairs, 11 take a quarter of the first-level cache.
constexpr unsigned step_bits = 10;
struct Step {
  std::array<char, 2> symbols{};
  std::uint8_t bits = 0;             // of all its symbols; 0: the code is longer
  std::uint8_t first_and_count = 0;  // bits of the first symbol << 4 | how many symbols

  [[nodiscard]] constexpr unsigned first_bits() const noexcept { return first_and_count / 16U; }
  [[nodiscard]] constexpr unsigned count() const noexcept { return first_and_count % 16U; }
};

constexpr std::array<Step, 1U << step_bits> steps = [] {
  std::array<Step, 1U << step_bits> made{};
  // By next bits, the symbol: the codes are contiguous from 0 on, so ranges need no search.
  for (unsigned place = 0; place < symbol_count; ++place) {
    const unsigned symbol = code.symbols[place];
    const unsigned bits = code_bits[symbol];
    if (bits > step_bits) break;
    const unsigned begin = code.codes[symbol] << (step_bits - bits);
    for (unsigned i = begin; i < begin + (1U << (step_bits - bits)); ++i) {
      made[i].symbols[0] = static_cast<char>(symbol);
      made[i].bits = static_cast<std::uint8_t>(bits);
      made[i].first_and_count = static_cast<std::uint8_t>(bits << 4 | 1);
    }
  }
  const std::array<Step, 1U << step_bits> single = made;
  for (unsigned i = 0; i < made.size(); ++i) {
    const unsigned bits = single[i].bits;
    if (bits == 0) continue;
    const Step& second = single[(i << bits) & (made.size() - 1)];
    if (second.bits == 0 || bits + second.bits > step_bits) continue;
    made[i].symbols[1] = second.symbols[0];
    made[i].bits = static_cast<std::uint8_t>(bits + second.bits);
    made[i].first_and_count = static_cast<std::uint8_t>(bits << 4 | 2);
  }
  return made;
}();

// The next bits, left-aligned. Those after the first `bits` are zero or already right.
struct Bits {
  std::uint64_t word = 0;
  unsigned count = 0;

  [[nodiscard]] const Step& step() const noexcept { return steps[word >> (64 - step_bits)]; }
  void skip(unsigned bits) noexcept {
    word <<= bits;
    count -= bits;
  }
};

struct Symbol {
  unsigned value;
  unsigned bits;
};

// For a code that is longer than a step. The bits after the last one may be of any value: the code
// found is then longer than what is left.
Symbol long_symbol(std::uint64_t word) noexcept {
  const auto top = static_cast<std::uint32_t>(word >> 32);
  unsigned bits = step_bits + 1;
  while (bits < code_bits_max && top >= code.limits[bits]) ++bits;
  const std::uint32_t offset = (top - code.first[bits]) >> (32 - bits);
  return {code.symbols[code.places[bits] + offset], bits};
}

// All symbols that end within `bits`; false at EOS.
bool decode_all(Bits& bits, char*& out) noexcept {
  while (bits.count != 0) {
    const Step& step = bits.step();
    if (step.bits != 0 && step.bits <= bits.count) [[likely]] {
      std::memcpy(out, step.symbols.data(), 2);
      out += step.count();
      bits.skip(step.bits);
      continue;
    }
    Symbol symbol{static_cast<unsigned char>(step.symbols[0]), step.first_bits()};
    if (step.bits == 0) symbol = long_symbol(bits.word);
    if (symbol.bits > bits.count) return true;
    if (symbol.value == eos) return false;
    *out++ = static_cast<char>(symbol.value);
    bits.skip(symbol.bits);
  }
  return true;
}

// Adds the last `size` < 8 bytes of a code that begins at `begin`, as many as there is room for.
void add_tail(Bits& bits, const char* begin, const char*& cursor, const char* end) noexcept {
  const auto size = static_cast<unsigned>(end - cursor);
  std::uint64_t word = 0;
  if (end - begin >= 8) {
    word = load_big_endian<std::uint64_t>(end - 8) << (64 - 8 * size);
  } else {
    for (unsigned i = 0; i < size; ++i) {
      word |= std::uint64_t{static_cast<unsigned char>(cursor[i])} << (56 - 8 * i);
    }
  }
  bits.word |= word >> bits.count;
  const unsigned taken = std::min(size, (63 - bits.count) >> 3);
  cursor += taken;
  bits.count += 8 * taken;
}

}  // namespace

std::size_t huffman_size(std::string_view text) noexcept {
  std::size_t bits = 0;
  for (const char c : text) bits += code_bits[static_cast<unsigned char>(c)];
  return (bits + 7) / 8;
}

char* huffman_encode(char* out, std::string_view text) noexcept {
  std::uint64_t word = 0;  // the last `count` bits wait to be written
  unsigned count = 0;
  for (const char c : text) {
    const auto symbol = static_cast<unsigned char>(c);
    word = word << code_bits[symbol] | code.codes[symbol];
    count += code_bits[symbol];
    if (count < 32) continue;
    count -= 32;
    store_big_endian(out, static_cast<std::uint32_t>(word >> count));
    out += 4;
  }
  for (; count >= 8; count -= 8) *out++ = static_cast<char>(word >> (count - 8));
  if (count != 0) *out++ = static_cast<char>(word << (8 - count) | 0xffU >> count);
  return out;
}

char* huffman_decode(char* out, std::string_view text) noexcept {
  const char* cursor = text.data();
  const char* const end = cursor + text.size();
  Bits bits;
  while (end - cursor >= 8) {
    bits.word |= load_big_endian<std::uint64_t>(cursor) >> bits.count;
    const unsigned taken = (63 - bits.count) >> 3;
    cursor += taken;
    bits.count += 8 * taken;
    while (bits.count >= code_bits_max) {  // no code can end beyond
      const Step& step = bits.step();
      if (step.bits != 0) [[likely]] {
        std::memcpy(out, step.symbols.data(), 2);
        out += step.count();
        bits.skip(step.bits);
        continue;
      }
      const Symbol symbol = long_symbol(bits.word);
      if (symbol.value == eos) return nullptr;
      *out++ = static_cast<char>(symbol.value);
      bits.skip(symbol.bits);
    }
  }
  while (cursor != end) {
    add_tail(bits, text.data(), cursor, end);
    if (!decode_all(bits, out)) return nullptr;
  }
  if (bits.count > 7) return nullptr;
  const std::uint64_t ones = ~(~std::uint64_t{0} >> bits.count);
  return (bits.word & ones) == ones ? out : nullptr;
}

}  // namespace h2server::http::h2::hpack
