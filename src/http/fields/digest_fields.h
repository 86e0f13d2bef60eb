// Content-Digest and Repr-Digest (RFC 9530): dictionaries of byte sequences (RFC 8941).
//
// Pure functions, any thread.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "h2server/message.h"

namespace h2server::http {

using Sha256Value = std::array<unsigned char, 32>;
using Sha512Value = std::array<unsigned char, 64>;

struct DigestFields {
  std::optional<Sha256Value> sha256;
  std::optional<Sha512Value> sha512;
  bool malformed = false;  // the field is no dictionary, or one of the two is no digest
  bool other = false;      // it has digests of other algorithms, which do not count
};

// Reads the value of such a field. Several lines of a field are joined by commas.
DigestFields parse_digest_field(std::string_view value);
// Reads the field `name` of a request; nullopt if there is none.
std::optional<DigestFields> find_digest_field(const Fields& fields, std::string_view name);

// Returns the field's value: "sha-256=:…:".
std::string digest_field(std::span<const unsigned char> sha256);

}  // namespace h2server::http
