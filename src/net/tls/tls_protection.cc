#include "net/tls/tls_protection.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/params.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "base/assert.h"
#include "base/out_of_memory.h"

namespace h2server::net {

namespace {

using Mac = std::unique_ptr<EVP_MAC_CTX, FreeBy<EVP_MAC_CTX_free>>;

constexpr std::size_t short_piece_bytes = 256;  // a call of the cipher costs as much as a copy

// HMAC with a hash, and no key yet. A context is copied from this one: to fetch the algorithms for
// each connection would cost more than to use them.
Mac make_hmac(const char* hash) {
  EVP_MAC* const hmac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  Mac made(hmac != nullptr ? EVP_MAC_CTX_new(hmac) : nullptr);
  EVP_MAC_free(hmac);
  const std::array<OSSL_PARAM, 2> parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, const_cast<char*>(hash), 0),
      OSSL_PARAM_construct_end()};
  if (made != nullptr && EVP_MAC_CTX_set_params(made.get(), parameters.data()) != 1) made.reset();
  return made;
}

// HKDF-Expand-Label (RFC 8446, 7.1) with an empty context. `keyed` has the secret as its key. The
// output is no longer than the hash, so it is the first block of HKDF-Expand (RFC 5869, 2.3).
bool expand_label(EVP_MAC_CTX* keyed, std::string_view label, std::span<unsigned char> out) {
  constexpr std::string_view prefix = "tls13 ";
  std::array<unsigned char, 64> info;
  std::size_t size = 0;
  info[size++] = 0;
  info[size++] = static_cast<unsigned char>(out.size());
  info[size++] = static_cast<unsigned char>(prefix.size() + label.size());
  for (const char character : prefix) info[size++] = static_cast<unsigned char>(character);
  for (const char character : label) info[size++] = static_cast<unsigned char>(character);
  info[size++] = 0;  // no context
  info[size++] = 1;  // the first block
  std::array<unsigned char, EVP_MAX_MD_SIZE> block;
  std::size_t block_bytes = 0;
  const bool done = EVP_MAC_init(keyed, nullptr, 0, nullptr) == 1 &&
                    EVP_MAC_update(keyed, info.data(), size) == 1 &&
                    EVP_MAC_final(keyed, block.data(), &block_bytes, block.size()) == 1 &&
                    block_bytes >= out.size();
  if (done) std::copy_n(block.begin(), out.size(), out.begin());
  OPENSSL_cleanse(block.data(), block.size());
  return done;
}

const unsigned char* bytes_of(const void* bytes) {
  return static_cast<const unsigned char*>(bytes);
}

}  // namespace

// What belongs to a cipher suite, fetched once for the process.
struct TlsProtection::Suite {
  Suite(const char* cipher_name, const char* hash, std::size_t secret_size)
      : cipher(EVP_CIPHER_fetch(nullptr, cipher_name, nullptr)),
        hmac(make_hmac(hash)),
        secret_bytes(secret_size) {
    ERR_clear_error();  // the caller's error queue stays empty
  }

  [[nodiscard]] bool usable() const noexcept { return cipher != nullptr && hmac != nullptr; }

  std::unique_ptr<EVP_CIPHER, FreeBy<EVP_CIPHER_free>> cipher;
  Mac hmac;
  std::size_t secret_bytes;  // as the hash has
};

const TlsProtection::Suite* TlsProtection::suite_of(std::uint16_t number) {
  const auto if_usable = [](const Suite& suite) { return suite.usable() ? &suite : nullptr; };
  switch (number) {  // RFC 8446, B.4
    case 0x1301: {
      static const Suite aes_128_gcm_sha256("AES-128-GCM", "SHA256", 32);
      return if_usable(aes_128_gcm_sha256);
    }
    case 0x1302: {
      static const Suite aes_256_gcm_sha384("AES-256-GCM", "SHA384", 48);
      return if_usable(aes_256_gcm_sha384);
    }
    case 0x1303: {
      static const Suite chacha20_poly1305_sha256("ChaCha20-Poly1305", "SHA256", 32);
      return if_usable(chacha20_poly1305_sha256);
    }
    default:
      return nullptr;  // CCM, which OpenSSL does not offer unless it is asked to
  }
}

TlsProtection::Secret::Secret(std::span<const unsigned char> bytes) noexcept
    : size_(std::min(bytes.size(), bytes_.size())) {
  std::copy_n(bytes.begin(), size_, bytes_.begin());
}

TlsProtection::Secret::~Secret() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

std::optional<TlsProtection> TlsProtection::make(Use use, std::uint16_t suite, const Secret& secret,
                                                 std::uint64_t records) {
  const Suite* const known = suite_of(suite);
  if (known == nullptr || secret.bytes().size() != known->secret_bytes) {
    return std::nullopt;
  }
  std::optional<TlsProtection> made(TlsProtection(use, *known, secret, records));
  made->cipher_.reset(EVP_CIPHER_CTX_new());
  if (made->cipher_ == nullptr) base::out_of_memory();
  if (!made->set_keys()) return std::nullopt;
  return made;
}

bool TlsProtection::set_keys() {
  const Mac hmac(EVP_MAC_CTX_dup(suite_->hmac.get()));
  if (hmac == nullptr) base::out_of_memory();
  const std::span<const unsigned char> secret = secret_.bytes();
  std::array<unsigned char, EVP_MAX_KEY_LENGTH> key;
  const auto key_bytes = static_cast<std::size_t>(EVP_CIPHER_get_key_length(suite_->cipher.get()));
  // RFC 8446, 7.3.
  const bool derived = EVP_MAC_init(hmac.get(), secret.data(), secret.size(), nullptr) == 1 &&
                       expand_label(hmac.get(), "key", std::span(key).first(key_bytes)) &&
                       expand_label(hmac.get(), "iv", iv_);
  const bool set = derived && EVP_CipherInit_ex2(cipher_.get(), suite_->cipher.get(), key.data(),
                                                 nullptr, use_ == Use::seal, nullptr) == 1;
  OPENSSL_cleanse(key.data(), key.size());
  return set;
}

bool TlsProtection::update() {
  const Mac hmac(EVP_MAC_CTX_dup(suite_->hmac.get()));
  if (hmac == nullptr) base::out_of_memory();
  const std::span<const unsigned char> old = secret_.bytes();
  std::array<unsigned char, 48> bytes;
  const std::span<unsigned char> next = std::span(bytes).first(old.size());
  const bool derived = EVP_MAC_init(hmac.get(), old.data(), old.size(), nullptr) == 1 &&
                       expand_label(hmac.get(), "traffic upd", next);
  if (derived) secret_ = Secret(next);
  OPENSSL_cleanse(bytes.data(), bytes.size());
  records_ = 0;
  if (derived && set_keys()) return true;
  cipher_.reset();  // the old key must not be used with record numbers that it has had
  return false;
}

bool TlsProtection::begin(const unsigned char* header) {
  if (cipher_ == nullptr) return false;
  ASSERT(records_ < std::numeric_limits<std::uint64_t>::max());  // RFC 8446, 5.3: never wraps
  std::array<unsigned char, iv_bytes> nonce = iv_;
  for (std::size_t i = 0; i < sizeof records_; ++i) {
    nonce[iv_bytes - 1 - i] ^= static_cast<unsigned char>(records_ >> (8 * i));
  }
  ++records_;
  int none = 0;
  return EVP_CipherInit_ex2(cipher_.get(), nullptr, nullptr, nonce.data(), -1, nullptr) == 1 &&
         EVP_CipherUpdate(cipher_.get(), nullptr, &none, header, tls_header_bytes) == 1;
}

bool TlsProtection::seal(TlsContentType type, std::span<const iovec> pieces, std::size_t size,
                         char* out) {
  ASSERT(use_ == Use::seal && size <= tls_content_bytes_max);
  auto* const header = reinterpret_cast<unsigned char*>(out);
  const std::size_t length = size + 1 + tls_tag_bytes;
  header[0] = static_cast<unsigned char>(TlsContentType::application_data);
  header[1] = header[2] = 3;  // legacy_record_version
  header[3] = static_cast<unsigned char>(length >> 8);
  header[4] = static_cast<unsigned char>(length);
  if (!begin(header)) return false;

  unsigned char* const body = header + tls_header_bytes;
  std::size_t encrypted = 0;  // bytes of the body
  std::size_t filled = 0;     // those, and plaintext that was copied behind them
  const auto encrypt = [&](const void* from, std::size_t count) {
    int done = 0;
    if (EVP_CipherUpdate(cipher_.get(), body + encrypted, &done, bytes_of(from),
                         static_cast<int>(count)) != 1) {
      return false;
    }
    encrypted += count;
    filled = std::max(filled, encrypted);
    return static_cast<std::size_t>(done) == count;
  };
  for (const iovec& piece : pieces) {
    const std::size_t count = std::min(piece.iov_len, size - filled);
    if (count == 0) break;
    if (count <= short_piece_bytes) {
      std::memcpy(body + filled, piece.iov_base, count);
      filled += count;
    } else if ((filled > encrypted && !encrypt(body + encrypted, filled - encrypted)) ||
               !encrypt(piece.iov_base, count)) {
      return false;
    }
  }
  ASSERT(filled == size);
  body[filled++] = static_cast<unsigned char>(type);  // RFC 8446, 5.2: TLSInnerPlaintext
  if (!encrypt(body + encrypted, filled - encrypted)) return false;
  int none = 0;
  return EVP_CipherFinal_ex(cipher_.get(), body + encrypted, &none) == 1 &&
         EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_AEAD_GET_TAG, tls_tag_bytes,
                             body + encrypted) == 1;
}

bool TlsProtection::open(const Header& header, std::span<const iovec> pieces, std::size_t size,
                         char* out) {
  ASSERT(use_ == Use::open && size >= tls_tag_bytes);
  if (!begin(header.data())) return false;
  std::size_t left = size - tls_tag_bytes;
  std::array<unsigned char, tls_tag_bytes> tag;
  std::size_t tag_filled = 0;
  for (const iovec& piece : pieces) {
    const std::size_t count = std::min(piece.iov_len, left);
    int done = 0;
    if (count > 0 && EVP_CipherUpdate(cipher_.get(), reinterpret_cast<unsigned char*>(out), &done,
                                      bytes_of(piece.iov_base), static_cast<int>(count)) != 1) {
      return false;
    }
    out += count;
    left -= count;
    const std::size_t rest = std::min(piece.iov_len - count, tls_tag_bytes - tag_filled);
    std::copy_n(bytes_of(piece.iov_base) + count, rest, tag.begin() + tag_filled);
    tag_filled += rest;
  }
  ASSERT(left == 0 && tag_filled == tls_tag_bytes);
  int none = 0;
  return EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_AEAD_SET_TAG, tls_tag_bytes, tag.data()) ==
             1 &&
         EVP_CipherFinal_ex(cipher_.get(), reinterpret_cast<unsigned char*>(out), &none) == 1;
}

}  // namespace h2server::net
