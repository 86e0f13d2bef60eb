#include "server/passwords/tokens.h"

#include <bit>
#include <utility>

#include "base/text/text.h"
#include "server/passwords/hash.h"

namespace h2server::server {

namespace {

// Returns false unless `text` is exactly the digits of the digest, in any case.
bool read_hex(std::string_view text, net::Sha256Digest& digest) noexcept {
  if (text.size() != 2 * digest.size()) return false;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const int high = base::hex_digit(text[2 * i]);
    const int low = base::hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    digest[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return true;
}

}  // namespace

TokenTable::Words TokenTable::words_of(const net::Sha256Digest& digest) noexcept {
  return std::bit_cast<Words>(digest);
}

Result<void, std::string> TokenTable::add(std::string_view user, std::string_view hash) {
  net::Sha256Digest digest{};
  if (!read_hex(hash.substr(prefix.size()), digest)) {
    return refuse("a malformed SHA-256 of a token, which has 64 hexadecimal digits");
  }
  if (digests_.size() == tokens_max) return refuse("more than 1000 tokens");
  // Whose would it be?
  if (find(words_of(digest)) != nullptr) return refuse("a token that is there already");
  digests_.push_back(words_of(digest));
  users_.emplace_back(user);
  return {};
}

const std::string* TokenTable::find(std::string_view token) const {
  if (token.size() > token_bytes_max) return nullptr;
  return find(words_of(net::sha256(token)));
}

// Looks at all words of all digests, without a branch that depends on them.
const std::string* TokenTable::find(const Words& wanted) const noexcept {
  std::uint64_t found = 0;  // the index and 1
  for (std::size_t i = 0; i < digests_.size(); ++i) {
    std::uint64_t difference = 0;
    for (std::size_t w = 0; w < wanted.size(); ++w) difference |= digests_[i][w] ^ wanted[w];
    // The highest bit is set unless the difference is 0: the mask is then 0, otherwise all ones.
    const std::uint64_t mask = ((difference | (0 - difference)) >> 63) - 1;
    found |= mask & (i + 1);
  }
  return found == 0 ? nullptr : &users_[found - 1];
}

}  // namespace h2server::server
