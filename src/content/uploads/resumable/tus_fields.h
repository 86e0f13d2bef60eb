// Field values of tus 1.0.0 and its extensions.
//
// Pure functions, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "content/storage/pending_description.h"
#include "content/uploads/receive/expected_digest.h"

namespace h2server::content {

inline constexpr std::string_view tus_version = "1.0.0";
// And concatenation, where uploads can be concatenated.
inline constexpr std::string_view tus_extensions =
    "creation,creation-with-upload,creation-defer-length,expiration,checksum,termination";
inline constexpr std::string_view tus_checksum_algorithms = "sha1,sha256,sha512";

// Upload-Concat: "partial", or "final;" and the URLs of the partial uploads, separated by spaces.
struct UploadConcat {
  Concatenation kind = Concatenation::none;
  std::vector<std::string> ids;  // in order
};
// `base` is the path of the uploads, such as "/uploads". Returns nullopt if the value is malformed,
// names something else than an upload, or more than `parts_max`.
std::optional<UploadConcat> parse_upload_concat(std::string_view value, std::string_view base,
                                                std::size_t parts_max);

// Upload-Checksum: an algorithm, a space, and the digest in Base64. Returns nullopt if the value is
// malformed or the algorithm is none of tus_checksum_algorithms.
std::optional<ExpectedDigest> parse_upload_checksum(std::string_view value);

}  // namespace h2server::content
