// Media types of files by their extension.
//
// Not a sniffer: what the file holds is not looked at. A static table, any thread, no allocation.
#pragma once

#include <string_view>

namespace h2server::http {

// The value for a Content-Type field. The extension is what follows the last dot of the last path
// segment, in any case; a leading dot hides a file and starts no extension. Text is taken to be
// UTF-8. "application/octet-stream" when the extension is unknown. The view never expires.
std::string_view media_type(std::string_view path) noexcept;

}  // namespace h2server::http
