#include "net/tls/tls_tickets.h"

#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/assert.h"
#include "base/c_callback.h"
#include "base/clock.h"
#include "net/crypto/tls_objects.h"

namespace h2server::net {

namespace {

using Kdf = std::unique_ptr<EVP_KDF, FreeBy<EVP_KDF_free>>;
using KdfContext = std::unique_ptr<EVP_KDF_CTX, FreeBy<EVP_KDF_CTX_free>>;

constexpr std::size_t name_bytes = 16;  // RFC 5077, 4
constexpr std::size_t iv_bytes = 16;    // of AES in CBC mode

constexpr std::size_t secret_bytes = 32;

std::atomic<std::uint64_t> made{0};

std::string random_secret() {
  std::string secret(secret_bytes, '\0');
  // Without random numbers there is no TLS at all.
  ASSERT(RAND_priv_bytes(reinterpret_cast<unsigned char*>(secret.data()),
                         static_cast<int>(secret.size())) == 1);
  return secret;
}

}  // namespace

// Filled by derive() as raw bytes.
struct TicketKeys::Key {
  std::array<unsigned char, name_bytes> name;
  std::array<unsigned char, 32> encryption;      // AES-256-CBC
  std::array<unsigned char, 32> authentication;  // HMAC-SHA-256
};

// Each thread derives its keys once per epoch, so a handshake takes no lock.
struct TicketKeys::KeysOfThread {
  std::uint64_t number = 0;  // number_ of the TicketKeys; 0: none
  std::int64_t epoch = 0;
  std::vector<Key> accepted;  // the first one makes new tickets
};

std::int64_t TicketKeys::uptime_s() { return base::monotonic_ms() / 1000; }
std::int64_t TicketKeys::time_of_day_s() { return std::time(nullptr); }

TicketKeys::TicketKeys(Clock clock)
    : clock_(clock), number_(made.fetch_add(1) + 1), shared_(false), secrets_({random_secret()}) {}

TicketKeys::TicketKeys(std::vector<std::string> secrets, std::string terms, Clock clock)
    : clock_(clock),
      number_(made.fetch_add(1) + 1),
      shared_(true),
      secrets_(std::move(secrets)),
      terms_(std::move(terms)) {}

TicketKeys::~TicketKeys() {
  for (std::string& secret : secrets_) OPENSSL_cleanse(secret.data(), secret.size());
}

// HKDF (RFC 5869) with the epoch's number and the terms in the info field.
bool TicketKeys::derive(const std::string& secret, std::int64_t epoch, Key& key) const {
  static_assert(sizeof(Key) == name_bytes + 64, "no padding");
  std::string purpose = fmt::format("h2server ticket key {} {}", epoch, terms_);
  char digest[] = "SHA256";
  const std::array<OSSL_PARAM, 4> parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, const_cast<char*>(secret.data()),
                                        secret.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, purpose.data(), purpose.size()),
      OSSL_PARAM_construct_end()};
  const Kdf kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  const KdfContext context(kdf != nullptr ? EVP_KDF_CTX_new(kdf.get()) : nullptr);
  return context != nullptr && EVP_KDF_derive(context.get(), reinterpret_cast<unsigned char*>(&key),
                                              sizeof key, parameters.data()) == 1;
}

const TicketKeys::KeysOfThread* TicketKeys::keys() const {
  thread_local KeysOfThread known;
  const std::int64_t epoch = clock_() / epoch_s;
  if (known.number == number_ && known.epoch == epoch) return &known;
  known.number = 0;
  known.accepted.clear();
  for (const std::string& secret : secrets_) {
    for (const std::int64_t other : {epoch, epoch - 1, epoch + 1}) {
      if (!derive(secret, other, known.accepted.emplace_back())) return nullptr;
      if (!shared_ && other < epoch) break;  // no clock is ahead of the only one
    }
  }
  known.number = number_;
  known.epoch = epoch;
  return &known;
}

struct TicketKeys::Callback {
  // Results as in SSL_CTX_set_tlsext_ticket_key_evp_cb(3).
  static constexpr int failed = -1;
  static constexpr int unknown = 0;  // a full handshake, with a new ticket
  static constexpr int good = 1;
  static constexpr int renew = 2;

  static int call(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                  EVP_MAC_CTX* mac, int encrypts) {
    const auto* const self =
        static_cast<const TicketKeys*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
    const KeysOfThread* const keys = self->keys();
    if (keys == nullptr) return failed;
    if (encrypts == 1)
      return encrypt(keys->accepted.front(), name, iv, cipher, mac) ? good : failed;
    const auto key = std::ranges::find_if(keys->accepted, [name](const Key& each) {
      return CRYPTO_memcmp(each.name.data(), name, name_bytes) == 0;
    });
    if (key == keys->accepted.end()) return unknown;
    if (!authenticate(*key, mac) ||
        EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key->encryption.data(), iv) != 1) {
      return failed;
    }
    // RFC 8446, C.4: a client uses a ticket once, so that observers can't recognise it.
    const bool newest = key == keys->accepted.begin();
    return !newest || SSL_version(ssl) >= TLS1_3_VERSION ? renew : good;
  }

  static bool encrypt(const Key& key, unsigned char* name, unsigned char* iv,
                      EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac) {
    std::ranges::copy(key.name, name);
    return RAND_bytes(iv, iv_bytes) == 1 && authenticate(key, mac) &&
           EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key.encryption.data(), iv) == 1;
  }

  static bool authenticate(const Key& key, EVP_MAC_CTX* mac) {
    char digest[] = "SHA256";
    const std::array<OSSL_PARAM, 3> parameters = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY,
                                          const_cast<unsigned char*>(key.authentication.data()),
                                          key.authentication.size()),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end()};
    return EVP_MAC_CTX_set_params(mac, parameters.data()) == 1;
  }
};

void TicketKeys::install(ssl_ctx_st* context) const {
  SSL_CTX_set_app_data(context, const_cast<TicketKeys*>(this));
  SSL_CTX_set_tlsext_ticket_key_evp_cb(context, base::c_callback<Callback::call>);
}

}  // namespace h2server::net
