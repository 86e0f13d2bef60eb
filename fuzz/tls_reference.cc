#include "tls_reference.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <memory>
#include <utility>

#include "require.h"

namespace h2server::fuzz {

namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

const EVP_CIPHER* cipher_of(std::uint16_t suite) {
  if (suite == 0x1301) return EVP_aes_128_gcm();
  return suite == 0x1302 ? EVP_aes_256_gcm() : EVP_chacha20_poly1305();
}

struct Cipher {
  Cipher(std::uint16_t suite, const std::string& key, const std::string& nonce, bool seals)
      : context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free) {
    require(EVP_CipherInit_ex(context.get(), cipher_of(suite), nullptr, bytes_of(key),
                              bytes_of(nonce), seals ? 1 : 0) == 1,
            "the reference has its cipher");
  }
  // `out` may be null: then `in` is associated data.
  void update(unsigned char* out, std::string_view in) {
    int done = 0;
    require(
        EVP_CipherUpdate(context.get(), out, &done, bytes_of(in), static_cast<int>(in.size())) == 1,
        "the reference encrypts");
  }

  std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context;
};

}  // namespace

TlsReference::TlsReference(std::uint16_t suite, std::string secret)
    : suite_(suite), secret_(std::move(secret)) {
  set_keys();
}

// HKDF-Expand-Label (RFC 8446, 7.1) of at most one hash: RFC 5869, 2.3 with N = 1.
std::string TlsReference::expand(std::string_view label, std::size_t size) const {
  std::string info{'\0', static_cast<char>(size), static_cast<char>(6 + label.size())};
  info += "tls13 ";
  info += label;
  info += std::string("\0\1", 2);
  std::array<unsigned char, EVP_MAX_MD_SIZE> block{};
  unsigned block_bytes = 0;
  const EVP_MD* const hash = suite_ == 0x1302 ? EVP_sha384() : EVP_sha256();
  ::HMAC(hash, secret_.data(), static_cast<int>(secret_.size()), bytes_of(std::string_view(info)),
         info.size(), block.data(), &block_bytes);
  require(block_bytes >= size, "the reference derives a key");
  return {reinterpret_cast<const char*>(block.data()), size};
}

void TlsReference::set_keys() {
  key_ = expand("key", suite_ == 0x1301 ? 16 : 32);
  iv_ = expand("iv", 12);
  records_ = 0;
}

void TlsReference::update() {
  secret_ = expand("traffic upd", secret_.size());
  ++generation_;
  set_keys();
}

// RFC 8446, 5.3.
std::string TlsReference::next_nonce() {
  std::string nonce = iv_;
  std::uint64_t number = records_++;
  for (std::size_t at = nonce.size(); number > 0; number >>= 8) {
    --at;
    nonce[at] = static_cast<char>(nonce[at] ^ static_cast<char>(number & 255));
  }
  return nonce;
}

std::string TlsReference::seal(const TlsInner& inner) {
  std::string plain = inner.content;
  if (inner.type != 0) plain += static_cast<char>(inner.type);
  plain.append(inner.zeros, '\0');
  const std::size_t size = plain.size() + tls_tag_bytes;
  std::string record = "\x17\x03\x03";
  record += static_cast<char>(size >> 8);
  record += static_cast<char>(size & 255);
  Cipher cipher(suite_, key_, next_nonce(), true);
  cipher.update(nullptr, record);
  record.resize(tls_header_bytes + size);
  unsigned char* const body = bytes_of(record) + tls_header_bytes;
  if (!plain.empty()) cipher.update(body, plain);
  int none = 0;
  require(EVP_CipherFinal_ex(cipher.context.get(), body + plain.size(), &none) == 1 &&
              EVP_CIPHER_CTX_ctrl(cipher.context.get(), EVP_CTRL_AEAD_GET_TAG, tls_tag_bytes,
                                  body + plain.size()) == 1,
          "the reference seals");
  return record;
}

std::optional<TlsInner> TlsReference::open(std::string_view record) {
  if (record.size() < tls_header_bytes + tls_tag_bytes) return std::nullopt;
  const std::string_view encrypted =
      record.substr(tls_header_bytes, record.size() - tls_header_bytes - tls_tag_bytes);
  std::string tag(record.substr(record.size() - tls_tag_bytes));
  Cipher cipher(suite_, key_, next_nonce(), false);
  cipher.update(nullptr, record.substr(0, tls_header_bytes));
  std::string plain(encrypted.size(), '\0');
  if (!plain.empty()) cipher.update(bytes_of(plain), encrypted);
  int none = 0;
  EVP_CIPHER_CTX_ctrl(cipher.context.get(), EVP_CTRL_AEAD_SET_TAG, tls_tag_bytes, tag.data());
  if (EVP_CipherFinal_ex(cipher.context.get(), bytes_of(plain) + plain.size(), &none) != 1) {
    return std::nullopt;
  }
  TlsInner inner;
  while (!plain.empty() && plain.back() == '\0') {
    plain.pop_back();
    ++inner.zeros;
  }
  if (!plain.empty()) {
    inner.type = static_cast<unsigned char>(plain.back());
    plain.pop_back();
  }
  inner.content = std::move(plain);
  return inner;
}

}  // namespace h2server::fuzz
