#include "content/uploads/receive/received_digest.h"

#include <utility>

#include "file/calls.h"

namespace h2server::content {

namespace {

template <class Work>
Task<bool> run(std::size_t bytes, Work work) {
  if (bytes <= hashed_at_once_max) co_return work();
  const std::optional<bool> done = co_await file::run_waiting(io::Engine::current(), work);
  co_return done.has_value();
}

}  // namespace

Task<bool> add_to_digests(std::string_view bytes, DigestCheck& check, Sha256* sha256) {
  return run(bytes.size(), [bytes, &check, sha256] {
    check.update(bytes);
    if (sha256 != nullptr) sha256->update(bytes);
    return true;
  });
}

Task<bool> add_to_digest(std::string_view bytes, Sha256& sha256) {
  return run(bytes.size(), [bytes, &sha256] {
    sha256.update(bytes);
    return true;
  });
}

std::string digits_of(std::optional<Sha256>& sha256) {
  return sha256 ? hex_digits(sha256->finish()) : std::string();
}

}  // namespace h2server::content
