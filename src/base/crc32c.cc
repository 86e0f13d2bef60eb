#include "base/crc32c.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace h2server::base {

namespace {

// "Slicing by eight": tables[n] has the checksums of bytes that n zero bytes follow.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() noexcept {
  constexpr std::uint32_t polynomial = 0x82f63b78;  // its bits in reverse
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? polynomial : 0);
    tables[0][byte] = sum;
  }
  for (std::size_t n = 1; n < tables.size(); ++n) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[n - 1][byte];
      tables[n][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr Tables tables = make_tables();

std::uint64_t take_word(std::string_view& bytes) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), sizeof word);
  bytes.remove_prefix(sizeof word);
  return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}

using Function = std::uint32_t (*)(std::uint32_t, std::string_view) noexcept;

#ifdef __x86_64__
[[gnu::target("sse4.2")]] std::uint32_t crc32c_by_instruction(std::uint32_t before,
                                                              std::string_view bytes) noexcept {
  std::uint64_t sum = ~before;
  while (bytes.size() >= sizeof sum) sum = __builtin_ia32_crc32di(sum, take_word(bytes));
  auto rest = static_cast<std::uint32_t>(sum);
  for (const char byte : bytes) {
    rest = __builtin_ia32_crc32qi(rest, static_cast<unsigned char>(byte));
  }
  return ~rest;
}

Function fastest() noexcept {
  return __builtin_cpu_supports("sse4.2") != 0 ? &crc32c_by_instruction : &crc32c_by_table;
}
#else
Function fastest() noexcept { return &crc32c_by_table; }
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::uint32_t before, std::string_view bytes) noexcept {
  std::uint32_t sum = ~before;
  while (bytes.size() >= sizeof(std::uint64_t)) {
    const std::uint64_t word = take_word(bytes) ^ sum;
    sum = 0;
    for (std::size_t n = 0; n < tables.size(); ++n) {
      sum ^= tables[tables.size() - 1 - n][(word >> (8 * n)) & 0xff];
    }
  }
  for (const char byte : bytes) {
    sum = (sum >> 8) ^ tables[0][(sum ^ static_cast<unsigned char>(byte)) & 0xff];
  }
  return ~sum;
}

std::uint32_t crc32c(std::uint32_t before, std::string_view bytes) noexcept {
  static const Function function = fastest();
  return function(before, bytes);
}

}  // namespace h2server::base
