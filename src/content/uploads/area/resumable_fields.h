// Field values and problems of draft-ietf-httpbis-resumable-upload ("Resumable Uploads for HTTP"),
// interop version 8. Its fields are items of RFC 9651.
//
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "h2server/response.h"

namespace h2server::content {

inline constexpr std::uint64_t newest_interop_version = 8;
inline constexpr std::string_view partial_upload_type = "application/partial-upload";

// "?1" and "?0" (RFC 9651, 3.3.6). Parameters are ignored. Returns nullopt for anything else, which
// makes the field ignored (draft, 4.1).
std::optional<bool> parse_item_boolean(std::string_view value);
// A number of at most 15 digits that is not negative (RFC 9651, 3.3.1). The same.
std::optional<std::uint64_t> parse_item_integer(std::string_view value);
std::string_view item_boolean(bool value);

// Upload-Limit: bytes of a file, 0 for no limit, and seconds until the upload expires.
std::string upload_limit(std::uint64_t size_max, std::int64_t age_s);

// Section 8 of the draft.
Response mismatching_offset(std::uint64_t expected, std::uint64_t provided);
Response completed_upload();
Response inconsistent_length();

}  // namespace h2server::content
