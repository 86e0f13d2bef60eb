// Media types of files by their extension: a built-in table, and given types in front of it.
//
// Not a sniffer: what the file holds is not looked at. Immutable, any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "h2server/result.h"

namespace h2server::http {

// Returns the type that the built-in table has for the path: the value for a Content-Type field.
// The extension is what follows the last dot of the last path segment, in any case; a leading dot
// hides a file and starts no extension. Text is taken to be UTF-8. "application/octet-stream" when
// the extension is unknown. The view never expires. No allocation.
std::string_view media_type(std::string_view path) noexcept;

// Longer extensions have no type.
inline constexpr std::size_t extension_bytes_max = 32;

// Longer types are refused: a field of a response has to fit into what clients accept.
inline constexpr std::size_t media_type_bytes_max = 255;

// Returns the type (RFC 9110, 8.3.1) with its name in lower case and its parameters behind "; ", or
// nullopt if it is malformed or too long. So types can be compared with those that browsers run
// scripts of.
std::optional<std::string> normal_media_type(std::string_view text);

// Types by extension, as http::MediaTypes takes them.
using TypeTable = std::map<std::string, std::string, std::less<>>;

class MediaTypes {
 public:
  MediaTypes() = default;  // the built-in table only
  // Extensions are without a dot, in any case. The error says what is wrong.
  static Result<MediaTypes, std::string> make(const std::map<std::string, std::string>& types);

  // As media_type(), but a given type comes first. The view lives as long as this object.
  [[nodiscard]] std::string_view of(std::string_view path) const noexcept;

 private:
  TypeTable types_;  // extensions in lower case
};

using MediaTypesRef = std::shared_ptr<const MediaTypes>;  // not null

// Reads the text of a mime.types file: in each line a type and then its extensions; '#' begins a
// comment. Returns those that the built-in table does not know, the last type of each. Text is
// taken to be UTF-8. Malformed lines and extensions are skipped.
std::map<std::string, std::string> parse_mime_types(std::string_view text);

}  // namespace h2server::http
