// Hashes received bytes without making other connections wait.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "content/storage/file_digest.h"
#include "content/uploads/receive/stated_digests.h"
#include "h2server/task.h"

namespace h2server::content {

// More bytes, at 0.5 ns each, are hashed on another thread.
inline constexpr std::size_t hashed_at_once_max = 64 * 1024;

// Adds the bytes to both; `sha256` may be null. False if the server stops.
Task<bool> add_to_digests(std::string_view bytes, DigestCheck& check, Sha256* sha256);
// The same with one.
Task<bool> add_to_digest(std::string_view bytes, Sha256& sha256);

// Returns 64 digits; empty without a digest.
std::string digits_of(std::optional<Sha256>& sha256);

}  // namespace h2server::content
