#include "net/tls_tickets.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>

#include "base/assert.h"
#include "base/c_callback.h"
#include "base/clock.h"
#include "net/tls_objects.h"

namespace h2server::net {

namespace {

using Kdf = std::unique_ptr<EVP_KDF, FreeBy<EVP_KDF_free>>;
using KdfContext = std::unique_ptr<EVP_KDF_CTX, FreeBy<EVP_KDF_CTX_free>>;

constexpr std::size_t name_bytes = 16;  // RFC 5077, 4
constexpr std::size_t iv_bytes = 16;    // of AES in CBC mode

std::atomic<std::uint64_t> made{0};

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
  Key current;
  Key previous;
};

std::int64_t TicketKeys::now_s() { return base::monotonic_ms() / 1000; }

TicketKeys::TicketKeys(Clock clock) : clock_(clock), number_(made.fetch_add(1) + 1), secret_{} {
  // Without random numbers there is no TLS at all.
  ASSERT(RAND_priv_bytes(secret_.data(), static_cast<int>(secret_.size())) == 1);
}

TicketKeys::~TicketKeys() { OPENSSL_cleanse(secret_.data(), secret_.size()); }

// HKDF (RFC 5869) with the epoch's number in the info field.
bool TicketKeys::derive(std::int64_t epoch, Key& key) const {
  static_assert(sizeof(Key) == name_bytes + 64, "no padding");
  char purpose[] = "h2server ticket key 01234567";
  std::memcpy(purpose + sizeof purpose - 1 - sizeof epoch, &epoch, sizeof epoch);
  char digest[] = "SHA256";
  const std::array<OSSL_PARAM, 4> parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY,
                                        const_cast<unsigned char*>(secret_.data()), secret_.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, purpose, sizeof purpose - 1),
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
  if (!derive(epoch, known.current) || !derive(epoch - 1, known.previous)) return nullptr;
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
    if (encrypts == 1) return encrypt(keys->current, name, iv, cipher, mac) ? good : failed;
    const auto has_name = [name](const Key& key) {
      return CRYPTO_memcmp(key.name.data(), name, name_bytes) == 0;
    };
    const Key* const key = has_name(keys->current)    ? &keys->current
                           : has_name(keys->previous) ? &keys->previous
                                                      : nullptr;
    if (key == nullptr) return unknown;
    if (!authenticate(*key, mac) ||
        EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key->encryption.data(), iv) != 1) {
      return failed;
    }
    // RFC 8446, C.4: a client uses a ticket once, so that observers can't recognise it.
    return key == &keys->previous || SSL_version(ssl) >= TLS1_3_VERSION ? renew : good;
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
