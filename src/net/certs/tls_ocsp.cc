#include "net/certs/tls_ocsp.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/x509_vfy.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "base/out_of_memory.h"

namespace h2server::net {

namespace {

using Response = std::unique_ptr<OCSP_RESPONSE, FreeBy<OCSP_RESPONSE_free>>;
using Basic = std::unique_ptr<OCSP_BASICRESP, FreeBy<OCSP_BASICRESP_free>>;
using Store = std::unique_ptr<X509_STORE, FreeBy<X509_STORE_free>>;

constexpr std::size_t bytes_max = 64 * 1024;  // usually below 2 KiB
constexpr std::int64_t skew_s = 300;          // between the authority's clock and this one

// Reads at most one byte more than bytes_max.
Result<std::string, std::string> read_file(const std::string& file) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::string bytes(bytes_max + 1, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const bool failed = in.bad() || (!in.is_open());
  if (failed) {
    return std::unexpected(
        fmt::format("can't read the OCSP response {}: {}", file, std::strerror(errno)));
  }
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

// Returns null if the bytes are no complete response.
Response parse(const std::string& bytes) {
  if (bytes.size() > bytes_max) return nullptr;
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto* const end = at + bytes.size();
  Response response(d2i_OCSP_RESPONSE(nullptr, &at, static_cast<long>(bytes.size())));
  if (at != end) response.reset();
  ERR_clear_error();
  return response;
}

std::optional<std::int64_t> generalized_seconds(const ASN1_GENERALIZEDTIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return ::timegm(&parts);
}

// The first of the chain, if it is what the certificate names as its issuer.
X509* issuer_of(X509* certificate, const STACK_OF(X509) * chain) {
  if (X509_check_issued(certificate, certificate) == X509_V_OK) return certificate;
  X509* const next = sk_X509_num(chain) > 0 ? sk_X509_value(chain, 0) : nullptr;
  return next != nullptr && X509_check_issued(next, certificate) == X509_V_OK ? next : nullptr;
}

// Compares serial number, issuer's name and, if the issuer is known, its key (RFC 6960, 4.1.1).
bool is_about(OCSP_CERTID* id, X509* certificate, const X509* issuer) {
  ASN1_OCTET_STRING* name = nullptr;
  ASN1_OBJECT* algorithm = nullptr;
  ASN1_INTEGER* serial = nullptr;
  if (OCSP_id_get0_info(&name, &algorithm, nullptr, &serial, id) != 1) return false;
  if (ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(certificate)) != 0) return false;
  const EVP_MD* const digest = EVP_get_digestbyobj(algorithm);
  if (digest == nullptr) return false;
  std::array<unsigned char, EVP_MAX_MD_SIZE> expected{};
  unsigned size = 0;
  if (X509_NAME_digest(X509_get_issuer_name(certificate), digest, expected.data(), &size) != 1) {
    return false;
  }
  if (ASN1_STRING_length(name) != static_cast<int>(size) ||
      std::memcmp(ASN1_STRING_get0_data(name), expected.data(), size) != 0) {
    return false;
  }
  if (issuer == nullptr) return true;
  const std::unique_ptr<OCSP_CERTID, FreeBy<OCSP_CERTID_free>> whole(
      OCSP_cert_to_id(digest, certificate, issuer));
  return whole != nullptr && OCSP_id_cmp(whole.get(), id) == 0;
}

// Returns null if the response is about other certificates only.
OCSP_SINGLERESP* find_single(OCSP_BASICRESP* basic, X509* certificate, const X509* issuer) {
  for (int at = 0; at < OCSP_resp_count(basic); ++at) {
    OCSP_SINGLERESP* const single = OCSP_resp_get0(basic, at);
    // The parameter is const in later versions of OpenSSL.
    if (is_about(const_cast<OCSP_CERTID*>(OCSP_SINGLERESP_get0_id(single)), certificate, issuer)) {
      return single;
    }
  }
  return nullptr;
}

// Returns true if the issuer signed the response, or a responder that it names (RFC 6960, 4.2.2.2).
bool is_signed(OCSP_BASICRESP* basic, X509* issuer, STACK_OF(X509) * chain) {
  const Store store(X509_STORE_new());
  if (store == nullptr) base::out_of_memory();
  X509_STORE_add_cert(store.get(), issuer);
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);  // the issuer need be no root
  return OCSP_basic_verify(basic, chain, store.get(), 0) == 1;
}

// Returns an empty text if clients accept the response now; fills in when it ends.
std::string obstacle_of(OCSP_SINGLERESP* single, std::int64_t now_s, std::int64_t& end_s) {
  ASN1_GENERALIZEDTIME* begin = nullptr;
  ASN1_GENERALIZEDTIME* end = nullptr;
  const int status = OCSP_single_get0_status(single, nullptr, nullptr, &begin, &end);
  if (status == V_OCSP_CERTSTATUS_REVOKED) return "says that the certificate is revoked";
  if (status != V_OCSP_CERTSTATUS_GOOD)
    return "says that its authority does not know the "
           "certificate";
  const std::optional<std::int64_t> begin_s = generalized_seconds(begin);
  if (!begin_s) return "has no time";
  if (*begin_s > now_s + skew_s) return "is not valid yet";
  if (end == nullptr) return {};
  const std::optional<std::int64_t> known_end_s = generalized_seconds(end);
  if (!known_end_s || *known_end_s <= now_s) return "has expired";
  end_s = *known_end_s;
  return {};
}

// Returns what keeps the response from being sent, or an empty text.
std::string judge(OCSP_BASICRESP* basic, X509* certificate, STACK_OF(X509) * chain,
                  std::int64_t now_s, std::int64_t& end_s) {
  X509* const issuer = issuer_of(certificate, chain);
  OCSP_SINGLERESP* const single = find_single(basic, certificate, issuer);
  if (single == nullptr) return "is about another certificate";
  if (issuer != nullptr && !is_signed(basic, issuer, chain)) {
    return "is not signed by the authority of the certificate";
  }
  return obstacle_of(single, now_s, end_s);
}

}  // namespace

Result<OcspResponse, std::string> read_ocsp_response(const std::string& file, X509* certificate,
                                                     STACK_OF(X509) * chain, std::int64_t now_s) {
  Result<std::string, std::string> bytes = read_file(file);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  const Response response = parse(*bytes);
  if (response == nullptr) {
    return std::unexpected(fmt::format("{} holds no OCSP response in DER form", file));
  }
  OcspResponse read;
  std::string obstacle;
  const int status = OCSP_response_status(response.get());
  if (status != OCSP_RESPONSE_STATUS_SUCCESSFUL) {
    obstacle = fmt::format("says \"{}\"", OCSP_response_status_str(status));
  } else {
    const Basic basic(OCSP_response_get1_basic(response.get()));
    obstacle = basic == nullptr ? "is of a kind that clients do not know"
                                : judge(basic.get(), certificate, chain, now_s, read.end_s);
  }
  ERR_clear_error();
  if (obstacle.empty()) {
    read.der = *std::move(bytes);
  } else {
    read.warning =
        fmt::format("the OCSP response {} {}: it is not sent to clients", file, obstacle);
  }
  return read;
}

std::int64_t OcspResponses::now_s() { return std::time(nullptr); }

struct OcspResponses::Callback {
  // Called when a client asks, once the certificate is chosen.
  static int give(SSL* ssl, void* self_pointer) noexcept {
    const auto* const self = static_cast<const OcspResponses*>(self_pointer);
    const auto found = self->responses_.find(SSL_get_certificate(ssl));
    if (found == self->responses_.end()) return SSL_TLSEXT_ERR_NOACK;
    const OcspResponse& response = found->second;
    if (response.end_s <= self->clock_()) return SSL_TLSEXT_ERR_NOACK;
    // OpenSSL frees it.
    void* const copy = OPENSSL_memdup(response.der.data(), response.der.size());
    if (copy == nullptr) base::out_of_memory();
    SSL_set_tlsext_status_ocsp_resp(ssl, copy, static_cast<long>(response.der.size()));
    return SSL_TLSEXT_ERR_OK;
  }
};

void OcspResponses::add(const X509* certificate, OcspResponse response) {
  if (!response.der.empty()) responses_.insert_or_assign(certificate, std::move(response));
}

void OcspResponses::install(SSL_CTX* context) const {
  if (responses_.empty()) return;
  SSL_CTX_set_tlsext_status_cb(context, Callback::give);
  SSL_CTX_set_tlsext_status_arg(context, const_cast<OcspResponses*>(this));
}

}  // namespace h2server::net
