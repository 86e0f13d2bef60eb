// PasswordTable: the users of a password file, the hashes of their passwords, and their tokens.
// Immutable, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "h2server/result.h"
#include "server/passwords/tokens.h"

namespace h2server::server {

class PasswordTable {
 public:
  static constexpr std::size_t users_max = 100'000;

  // Parses "USER:HASH" lines, of which at least one is a password's or a token's. Fails with a line
  // for the operator, which begins with `file` and the number of the line, and never contains a
  // hash.
  static Result<PasswordTable, std::string> parse(std::string_view text, const std::string& file);

  // Computes a hash, as is_password_of() does. For a user who does not exist, that of another one
  // whom the name selects, always the same: so neither a time nor its spread over many names shows
  // who exists. Only for a table that has passwords.
  [[nodiscard]] Result<bool> is_right(const std::string& user, const std::string& password) const;

  [[nodiscard]] bool has_passwords() const noexcept { return !hashes_.empty(); }
  [[nodiscard]] const TokenTable& tokens() const noexcept { return tokens_; }

 private:
  PasswordTable() = default;
  // Fails with the reason.
  Result<void, std::string> add(std::string_view line);

  std::vector<std::string> hashes_;
  std::unordered_map<std::string, std::size_t> users_;  // indices of hashes_
  TokenTable tokens_;
};

}  // namespace h2server::server
