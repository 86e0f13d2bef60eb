// Hashes of passwords as crypt(5) describes them: bcrypt, SHA-crypt and yescrypt, by libxcrypt.
// Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "h2server/result.h"

namespace h2server::server {

// Returns the reason as an error.
inline std::unexpected<std::string> refuse(std::string reason) {
  return std::unexpected(std::move(reason));
}

// Fails with the reason if the hash is of another kind, malformed, or more expensive than a server
// can bear. Says nothing about the hash itself, which may be somebody's plain password.
Result<void, std::string> check_password_hash(std::string_view hash);

// Returns true if the hash is that of the password. Takes as long as the hash demands: milliseconds
// to seconds, and up to 64 MiB. `hash` has passed the check. Fails with ENOMEM, or for what
// libxcrypt does not do on this system.
Result<bool> is_password_of(const std::string& password, const std::string& hash);

}  // namespace h2server::server
