// Makes a file name from what a client claims to be one.
//
// Not a path resolver and not a check for existing files: the result is one path segment, valid
// UTF-8, that names no directory, hides no file and is no name of ours. Allocates the result.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace h2server::content {

inline constexpr std::size_t file_name_bytes_max = 255;  // NAME_MAX of Linux file systems

// Names that start so are kept for files that are still being written.
inline constexpr std::string_view temporary_file_prefix = "h2_tmp_";

// Keeps what follows the last '/' or '\', without control characters, without dots and spaces at
// either end; each byte that is not UTF-8 becomes '_'. A name longer than 255 bytes is shortened
// before its extension, between characters.
// nullopt when nothing is left, when the name is a temporary file's, or when the extension alone
// is too long.
std::optional<std::string> safe_file_name(std::string_view claimed);

}  // namespace h2server::content
