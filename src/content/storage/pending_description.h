// What is known about a resumable upload beside its bytes: the content of its .info file, in JSON.
//
// A value object. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace h2server::content {

// The concatenation extension of tus 1.0.0: a partial upload is not stored under a name, a final
// one is made of partial ones.
enum class Concatenation : std::uint8_t { none, partial, final };

struct PendingDescription {
  std::optional<std::uint64_t> length;  // bytes, once the client has announced it
  std::string name;                     // the final one, a path if it has folders
  std::string metadata;                 // Upload-Metadata as it was sent
  Concatenation concatenation = Concatenation::none;
  std::string parts;                     // of a final upload: the partial ones, as they were sent
  std::int64_t created_s = 0;            // since 1970
  std::string declared_sha256;           // by the client, 64 hexadecimal digits; empty: none
  std::string sha256;                    // of the whole content, once computed
  std::optional<std::uint64_t> checked;  // bytes before a request whose checksum is not verified

  bool operator==(const PendingDescription&) const = default;
};

// An object with one member per line.
std::string to_json(const PendingDescription& description);
// Reads what to_json() writes. Returns nullopt for anything else.
std::optional<PendingDescription> parse_description(std::string_view json);

}  // namespace h2server::content
