#include "server/passwords/hash.h"

#include <crypt.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include "base/text/text.h"
#include "h2server/authorization.h"

namespace h2server::server {

namespace {

using Check = Result<void, std::string>;

constexpr std::string_view fast = " can be guessed fast";

Check malformed(std::string_view kind) {
  return refuse("a malformed hash of " + std::string(kind));
}

bool is_encoded(std::string_view text) noexcept {
  return std::ranges::all_of(
      text, [](char c) { return base::is_alphanumeric(c) || c == '.' || c == '/'; });
}

// Removes the text up to a '$', and that, from the start of `rest`. Returns nullopt if there is
// none.
std::optional<std::string_view> take_part(std::string_view& rest) noexcept {
  const std::size_t dollar = rest.find('$');
  if (dollar == std::string_view::npos) return std::nullopt;
  const std::string_view part = rest.substr(0, dollar);
  rest.remove_prefix(dollar + 1);
  return part;
}

// `rest` is what follows "$2y$": the binary logarithm of the rounds, the salt and the hash.
Check check_bcrypt(std::string_view rest) {
  constexpr std::uint64_t cost_max = 17;  // htpasswd's; 10 s
  const auto cost = take_part(rest);
  if (!cost || cost->size() != 2 || rest.size() != 53 || !is_encoded(rest)) {
    return malformed("bcrypt");
  }
  // The salt's last character has four bits too many. libxcrypt clears them in the hash that it
  // computes, which would never equal this one.
  if (!std::string_view(".Oeu").contains(rest[21])) return malformed("bcrypt");
  const auto number = base::parse_decimal(*cost);
  if (!number || *number < 4) return malformed("bcrypt");
  if (*number > cost_max) return refuse("a cost of bcrypt above 17");
  return {};
}

// `rest` is what follows "$6$": the rounds unless they are 5000, the salt and the hash.
Check check_sha(std::string_view rest, std::size_t hash_size) {
  constexpr std::uint64_t rounds_max = 5'000'000;  // 2 s
  constexpr std::string_view name = "rounds=";
  if (rest.starts_with(name)) {
    rest.remove_prefix(name.size());
    const auto digits = take_part(rest);
    const auto rounds = base::parse_decimal(digits.value_or(""));
    // Those out of crypt's range and leading zeros would not be in the computed hash.
    if (!rounds || *rounds < 1000 || digits->starts_with('0')) return malformed("SHA-crypt");
    if (*rounds > rounds_max) return refuse("more than 5000000 rounds of SHA-crypt");
  }
  const auto salt = take_part(rest);
  const bool good = salt && salt->size() <= 16 && is_encoded(*salt) && rest.size() == hash_size &&
                    is_encoded(rest);
  return good ? Check() : malformed("SHA-crypt");
}

// Returns the value of a digit of crypt's base 64.
constexpr std::size_t value_of(char c) noexcept {
  return std::string_view("./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
      .find(c);
}

// `rest` is what follows "$y$": the parameters, as crypt_gensalt() makes them, the salt and the
// hash.
Check check_yescrypt(std::string_view rest) {
  constexpr std::uint64_t bytes_max = 64 << 20;  // of memory, for each check
  const auto parameters = take_part(rest);
  const auto salt = take_part(rest);
  const bool good = parameters && parameters->size() == 3 && parameters->starts_with('j') &&
                    is_encoded(*parameters) && salt && !salt->empty() && salt->size() <= 86 &&
                    is_encoded(*salt) && rest.size() == 43 && is_encoded(rest);
  if (!good) return malformed("yescrypt");
  const std::size_t log2_of_n = value_of((*parameters)[1]) + 1;
  const std::size_t r = value_of((*parameters)[2]) + 1;
  if (log2_of_n > 20 || (std::uint64_t{128} << log2_of_n) * r > bytes_max) {
    return refuse("more than 64 MiB for yescrypt");
  }
  return {};
}

Check check_form(std::string_view hash) {
  const auto begins = [hash](std::string_view prefix) { return hash.starts_with(prefix); };
  if (begins("$2y$") || begins("$2b$") || begins("$2a$")) return check_bcrypt(hash.substr(4));
  if (begins("$6$")) return check_sha(hash.substr(3), 86);
  if (begins("$5$")) return check_sha(hash.substr(3), 43);
  if (begins("$y$")) return check_yescrypt(hash.substr(3));
  if (begins("$apr1$") || begins("$1$")) return refuse("a hash of MD5" + std::string(fast));
  if (begins("{SHA}") || begins("{SSHA}")) return refuse("a hash of SHA-1" + std::string(fast));
  if (begins("$2x$")) return refuse("a hash of a faulty bcrypt ($2x$)");
  if (begins("$")) return refuse("an unknown kind of hash");
  return refuse("a plain text or a hash of DES" + std::string(fast));
}

}  // namespace

Check check_password_hash(std::string_view hash) {
  if (Check form = check_form(hash); !form) return form;
  // CRYPT_SALT_METHOD_LEGACY, which is that of $5$, does not mean that it can be guessed fast.
  const int setting = ::crypt_checksalt(std::string(hash).c_str());
  if (setting == CRYPT_SALT_INVALID || setting == CRYPT_SALT_METHOD_DISABLED) {
    return refuse("a kind of hash that this system's libcrypt does not know");
  }
  return {};
}

Result<bool> is_password_of(const std::string& password, const std::string& hash) {
  if (password.size() >= CRYPT_MAX_PASSPHRASE_SIZE || password.contains('\0')) return false;
  const auto data = std::make_unique<crypt_data>();  // 32 KiB; libxcrypt clears its traces
  const char* const computed = ::crypt_r(password.c_str(), hash.c_str(), data.get());
  if (computed == nullptr || *computed == '*') return std::unexpected(Error{errno, "crypt_r"});
  return equal_in_constant_time(computed, hash);
}

}  // namespace h2server::server
