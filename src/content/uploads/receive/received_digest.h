// Hashes received bytes without making other connections wait.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "content/storage/file_digest.h"
#include "file/calls.h"
#include "h2server/task.h"
#include "io/engine.h"

namespace h2server::content {

// More bytes, at 0.5 ns each, are hashed on another thread.
inline constexpr std::size_t hashed_at_once_max = 64 * 1024;

// Adds the bytes to a digest, or to a DigestCheck. False if the server stops.
template <class Digest>
Task<bool> add_to_digest(std::string_view bytes, Digest& digest) {
  const auto work = [bytes, &digest] {
    digest.update(bytes);
    return true;
  };
  if (bytes.size() <= hashed_at_once_max) co_return work();
  const std::optional<bool> done = co_await file::run_waiting(io::Engine::current(), work);
  co_return done.has_value();
}

// Returns 64 digits; empty without a digest.
inline std::string digits_of(std::optional<Sha256>& sha256) {
  return sha256 ? hex_digits(sha256->finish()) : std::string();
}

}  // namespace h2server::content
