// Makes a safe file name from the one that a client sent.
//
// Does not resolve paths or check for existing files. The result is one path segment of valid
// UTF-8. It is not "." or "..", not a hidden file's name and not a temporary file's. Allocates the
// result.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace h2server::content {

inline constexpr std::size_t file_name_bytes_max = 255;  // NAME_MAX of Linux file systems

// Prefix of names that are reserved for files still being written.
inline constexpr std::string_view temporary_file_prefix = "h2_tmp_";

// Keeps what follows the last '/' or '\', without control characters, and without dots and spaces
// at either end. Replaces each byte that is not UTF-8 by '_'. Shortens a name longer than 255 bytes
// before its extension, between characters. Returns nullopt if nothing is left, if the name is a
// temporary file's, or if the extension alone is too long.
std::optional<std::string> safe_file_name(std::string_view claimed);

}  // namespace h2server::content
