// The functions that OpenSSL 3 recommends keep their state to themselves.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "net/crypto/tls_sha256_state.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <charconv>

#include "base/assert.h"

namespace h2server::net {

namespace {

constexpr std::size_t word_digits = 8;

SHA256_CTX context_of(const std::array<std::uint32_t, 8>& words, std::uint64_t bytes) {
  SHA256_CTX context;
  ASSERT(SHA256_Init(&context) == 1);
  std::ranges::copy(words, context.h);
  const std::uint64_t bits = bytes * 8;
  context.Nl = static_cast<SHA_LONG>(bits);
  context.Nh = static_cast<SHA_LONG>(bits >> 32);
  return context;
}

}  // namespace

Sha256State::Sha256State() {
  SHA256_CTX context;
  ASSERT(SHA256_Init(&context) == 1);
  std::ranges::copy(context.h, words_.begin());
}

std::optional<Sha256State> Sha256State::resume(std::string_view digits, std::uint64_t bytes) {
  if (digits.size() != digits_size || bytes % block_bytes != 0) return std::nullopt;
  Sha256State state;
  for (std::uint32_t& word : state.words_) {
    const char* const end = digits.data() + word_digits;
    const auto [read, error] = std::from_chars(digits.data(), end, word, 16);
    if (error != std::errc() || read != end) return std::nullopt;
    digits.remove_prefix(word_digits);
  }
  state.bytes_ = bytes;
  return state;
}

void Sha256State::update(std::string_view blocks) {
  ASSERT(blocks.size() % block_bytes == 0);
  SHA256_CTX context = context_of(words_, bytes_);
  ASSERT(SHA256_Update(&context, blocks.data(), blocks.size()) == 1);
  std::ranges::copy(context.h, words_.begin());
  bytes_ += blocks.size();
}

std::string Sha256State::digits() const {
  std::string digits;
  for (const std::uint32_t word : words_) digits += fmt::format("{:08x}", word);
  return digits;
}

Sha256State::Value Sha256State::finish(std::string_view rest) const {
  SHA256_CTX context = context_of(words_, bytes_);
  Value value{};
  ASSERT(SHA256_Update(&context, rest.data(), rest.size()) == 1);
  ASSERT(SHA256_Final(value.data(), &context) == 1);
  return value;
}

}  // namespace h2server::net
