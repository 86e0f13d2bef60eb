#include "server/passwords/table.h"

#include <algorithm>

#include "base/assert.h"
#include "base/keyed_hash.h"
#include "base/text/text.h"
#include "server/passwords/hash.h"

namespace h2server::server {

namespace {

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

Result<PasswordTable, std::string> PasswordTable::parse(std::string_view text,
                                                        const std::string& file) {
  PasswordTable table;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t size = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, size);
    text.remove_prefix(std::min(size + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    if (Result<void, std::string> added = table.add(line); !added) {
      return std::unexpected(file + ":" + std::to_string(number) + ": " + added.error());
    }
  }
  if (table.hashes_.empty() && table.tokens_.empty()) return std::unexpected(file + ": no user");
  return table;
}

Result<void, std::string> PasswordTable::add(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return refuse("no colon after the user's name");
  const std::string_view user = line.substr(0, colon);
  if (user.empty()) return refuse("no user's name");
  // Such a name can't be sent (RFC 7617, 2).
  if (std::ranges::any_of(user, is_control)) return refuse("a control character in a user's name");
  const std::string_view rest = line.substr(colon + 1);
  const std::string_view hash = rest.substr(0, rest.find(':'));
  if (base::equals_ignoring_case(hash.substr(0, TokenTable::prefix.size()), TokenTable::prefix)) {
    return tokens_.add(user, hash);
  }
  if (Result<void, std::string> good = check_password_hash(hash); !good) {
    return refuse(good.error() + "; `htpasswd -B` makes a better one");
  }
  if (hashes_.size() == users_max) return refuse("more than 100000 users");
  if (!users_.emplace(user, hashes_.size()).second) return refuse("a user who is there already");
  hashes_.emplace_back(hash);
  return {};
}

Result<bool> PasswordTable::is_right(const std::string& user, const std::string& password) const {
  ASSERT(has_passwords());
  const auto found = users_.find(user);
  const bool exists = found != users_.end();
  const std::size_t index = exists ? found->second : base::keyed_hash(user) % hashes_.size();
  const Result<bool> same = is_password_of(password, hashes_[index]);
  if (!same) return same;
  return *same && exists;
}

}  // namespace h2server::server
