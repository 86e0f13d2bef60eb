// Readers of the fields of uploads that work by regular expressions: what the fuzzer upload_fields
// compares the parsers with.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace h2server::fuzz {

// std::regex needs memory for each byte of a piece, and so much stack.
inline constexpr std::size_t piece_bytes_max = 400;

// The readers return nullopt if the value is malformed. Digests and values of metadata are in
// Base64; those of digest fields without padding.

// Content-Digest and Repr-Digest (RFC 9530; RFC 9651, 4.2.2). Empty: there is none.
struct DigestTexts {
  std::string sha256;
  std::string sha512;
  bool other = false;
};
std::optional<DigestTexts> digests_by_reference(const std::string& value);

// Upload-Metadata: keys and values in order.
using MetadataTexts = std::vector<std::pair<std::string, std::string>>;
std::optional<MetadataTexts> metadata_by_reference(const std::string& value);

// Upload-Concat with uploads at "/uploads": the ids of a final upload, or none of a partial one.
std::optional<std::vector<std::string>> concat_by_reference(const std::string& value,
                                                            std::size_t parts_max);

// Upload-Checksum: the algorithm and the digest.
std::optional<std::pair<std::string, std::string>> checksum_by_reference(const std::string& value);

// The digits of an integer item that is not negative (RFC 9651, 3.3.1), and "0" or "1" of a boolean
// one (3.3.6). Other items are nullopt. Of the parameters, any text after ';' will do.
std::optional<std::string> integer_by_reference(const std::string& value);
std::optional<std::string> boolean_by_reference(const std::string& value);
// The same, but with parameters as the RFC has them.
bool is_item(const std::string& value);

// Returns false if a piece of the value is too long for these readers.
bool fits_reference(const std::string& value);

}  // namespace h2server::fuzz
