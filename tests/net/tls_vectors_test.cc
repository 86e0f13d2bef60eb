// TlsProtection and TlsRecords against byte tables: RFC 8448's trace, and records that Python's
// package cryptography (AESGCM, ChaCha20Poly1305, HKDFExpand) has made of the same secrets. What
// the server refuses is made of these keys by EVP, without TlsProtection.
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/tls/tls_protection.h"
#include "net/tls/tls_records.h"
#include "net/tls_secret.h"

namespace h2server::net {
namespace tls_vectors_test {

using Secret = TlsProtection::Secret;
using Use = TlsProtection::Use;
using Ending = TlsRecords::Ending;

const unsigned char* unsigned_bytes(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

// The next record with that content; the first `zeros` of padding follow its type.
std::string sealed(TlsProtection& by, std::string_view content, std::size_t zeros = 0) {
  // seal() writes the last byte as the type.
  std::string inner(content);
  if (zeros > 0) inner += '\x17' + std::string(zeros - 1, '\0');
  const iovec piece{inner.data(), inner.size()};
  std::string record(inner.size() + tls_record_overhead, '\0');
  const auto last = zeros > 0 ? TlsContentType{} : TlsContentType::application_data;
  EXPECT_TRUE(by.seal(last, {&piece, 1}, inner.size(), record.data()));
  return record;
}

// What the record holds, with its type and padding; nullopt if it is not authentic.
std::optional<std::string> opened(TlsProtection& by, std::string_view record) {
  TlsProtection::Header header;
  std::copy_n(record.begin(), header.size(), header.begin());
  const std::size_t size = record.size() - header.size();
  const iovec piece{const_cast<char*>(record.data()) + header.size(), size};
  std::string inner(size - tls_tag_bytes, '\0');
  if (!by.open(header, {&piece, 1}, size, inner.data())) return std::nullopt;
  return inner;
}

// --- RFC 8448, 3
// -----------------------------------------------------------------------------------

struct Trace {
  const char* what;
  const char* secret;
  std::uint64_t number;  // of the record with this secret
  const char* record;
  const char* inner;
};

constexpr std::array traces = {
    Trace{"the client's Finished, with its handshake traffic secret",
          "b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21", 0,
          "17 03 03 00 35 75 ec 4d c2 38 cc e6 0b 29 80 44 a7 1e 21 9c 56 cc 77 b0 51 7f e9 b9 3c "
          "7a 4b fc 44 d8 7f 38 f8 03 38 ac 98 fc 46 de b3 84 bd 1c ae ac ab 68 67 d7 26 c4 05 46",
          "14 00 00 20 a8 ec 43 6d 67 76 34 ae 52 5a c1 fc eb e1 1a 03 9e c1 76 94 fa c6 e9 85 27 "
          "b6 42 f2 ed d5 ce 61 16"},
    Trace{"the server's NewSessionTicket, with its application traffic secret",
          "a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643", 0,
          "17 03 03 00 de 3a 6b 8f 90 41 4a 97 d6 95 9c 34 87 68 0d e5 13 4a 2b 24 0e 6c ff ac 11 "
          "6e 95 d4 1d 6a f8 f6 b5 80 dc f3 d1 1d 63 c7 58 db 28 9a 01 59 40 25 2f 55 71 3e 06 1d "
          "c1 3e 07 88 91 a3 8e fb cf 57 53 ad 8e f1 70 ad 3c 73 53 d1 6d 9d a7 73 b9 ca 7f 2b 9f "
          "a1 b6 c0 d4 a3 d0 3f 75 e0 9c 30 ba 1e 62 97 2a c4 6f 75 f7 b9 81 be 63 43 9b 29 99 ce "
          "13 06 46 15 13 98 91 d5 e4 c5 b4 06 f1 6e 3f c1 81 a7 7c a4 75 84 00 25 db 2f 0a 77 f8 "
          "1b 5a b0 5b 94 c0 13 46 75 5f 69 23 2c 86 51 9d 86 cb ee ac 87 aa c3 47 d1 43 f9 60 5d "
          "64 f6 50 db 4d 02 3e 70 e9 52 ca 49 fe 51 37 12 1c 74 bc 26 97 68 7e 24 87 46 d6 df 35 "
          "30 05 f3 bc e1 86 96 12 9c 81 53 55 6b 3b 6c 67 79 b3 7b f1 59 85 68 4f",
          "04 00 00 c9 00 00 00 1e fa d6 aa c5 02 00 00 00 b2 2c 03 5d 82 93 59 ee 5f f7 af 4e c9 "
          "00 00 00 00 26 2a 64 94 dc 48 6d 2c 8a 34 cb 33 fa 90 bf 1b 00 70 ad 3c 49 88 83 c9 36 "
          "7c 09 a2 be 78 5a bc 55 cd 22 60 97 a3 a9 82 11 72 83 f8 2a 03 a1 43 ef d3 ff 5d d3 6d "
          "64 e8 61 be 7f d6 1d 28 27 db 27 9c ce 14 50 77 d4 54 a3 66 4d 4e 6d a4 d2 9e e0 37 25 "
          "a6 a4 da fc d0 fc 67 d2 ae a7 05 29 51 3e 3d a2 67 7f a5 90 6c 5b 3f 7d 8f 92 f2 28 bd "
          "a4 0d da 72 14 70 f9 fb f2 97 b5 ae a6 17 64 6f ac 5c 03 27 2e 97 07 27 c6 21 a7 91 41 "
          "ef 5f 7d e6 50 5e 5b fb c3 88 e9 33 43 69 40 93 93 4a e4 d3 57 00 08 00 2a 00 04 00 00 "
          "04 00 16"},
};

TEST(TlsVectors, OpensAndSealsTheHandshakesRecordsOfRfc8448) {
  for (const Trace& trace : traces) {
    SCOPED_TRACE(trace.what);
    const Secret secret = secret_of(bytes_of(trace.secret));
    std::optional<TlsProtection> reader =
        TlsProtection::make(Use::open, 0x1301, secret, trace.number);
    std::optional<TlsProtection> writer =
        TlsProtection::make(Use::seal, 0x1301, secret, trace.number);
    ASSERT_TRUE(reader && writer);
    std::string inner = bytes_of(trace.inner);
    EXPECT_EQ(opened(*reader, bytes_of(trace.record)), inner);
    inner.pop_back();  // the type
    const iovec piece{inner.data(), inner.size()};
    std::string record(inner.size() + tls_record_overhead, '\0');
    ASSERT_TRUE(writer->seal(TlsContentType::handshake, {&piece, 1}, inner.size(), record.data()));
    EXPECT_EQ(record, bytes_of(trace.record));
  }
}

// --- every suite
// -----------------------------------------------------------------------------------

struct Suite {
  std::uint16_t number;  // RFC 8446, B.4
  unsigned secret_bytes;
  const char* key;  // of the secret of secret()
  const char* iv;
  const char* updated;  // a record with "content" of the next generation's keys

  [[nodiscard]] std::string secret() const {
    std::string bytes;
    for (unsigned i = 0; i < secret_bytes; ++i) bytes += static_cast<char>(0x40 + i);
    return bytes;
  }
};

constexpr std::array<Suite, 3> suites = {{
    {.number = 0x1301,
     .secret_bytes = 32,
     .key = "54ff8cb00f433b8c65731bce8170ee3b",
     .iv = "380b541dc252b1f0618aea80",
     .updated = "1703030018a14fce737f2de73aea547dfd97bf0ac47edc543325efa649"},
    {.number = 0x1302,
     .secret_bytes = 48,
     .key = "32f584230ad7bd6ea025e6e6cc16e757358c962ebc8196f5433acae983fb668b",
     .iv = "0e7c7d30272bc74a0c9833b2",
     .updated = "17030300186a53da15cc9634da708a2455d2c036376413db93cedb6bd7"},
    {.number = 0x1303,
     .secret_bytes = 32,
     .key = "c38a77665cc2c3e5ee40f5a93e41e3766d1096763860b329865168833b5d337e",
     .iv = "380b541dc252b1f0618aea80",
     .updated = "1703030018968e7e25b1e0ae55225c36e53ccc85973b21c5f2c37cf734"},
}};

const Suite& suite_of(std::uint16_t number) { return suites.at(number - 0x1301U); }

struct Record {
  std::uint16_t suite;
  std::uint64_t number;  // its sequence number
  const char* content;
  std::size_t zeros;  // of padding
  const char* bytes;
};

constexpr std::array<Record, 21> records = {{
    {0x1301, 0, "content", 0, "170303001894d7414ff9bd96922f2635de207d77017cfa90257dd6e230"},
    {0x1301, 1, "content", 0, "170303001882ce21ae8ee11960464267d3307ba7a040fdb184395a3923"},
    {0x1301, 0xffffffff, "content", 0,
     "1703030018667726f0976bc032e2581fe9499b3ffe42b660496faceee3"},
    {0x1301, 0x100000000, "content", 0,
     "170303001864041e231fa8362a154f0ccc8c4b89544a695919165f25f9"},
    {0x1301, 0xffffffffffff, "content", 0,
     "170303001889223b04a61c02669656efb34cd7c363963f69f1fbf41448"},
    {0x1301, 0, "", 0, "1703030011e04ed1fff884ca747c7cd3e5a9c5e4c926"},
    {0x1301, 0, "content", 5,
     "170303001d94d7414ff9bd96922c39a26101d2cdf2f6e7683011f595645dba062e83"},
    {0x1302, 0, "content", 0, "1703030018e4b570a44f5bfde4f91bd2ab3bcfaacdf54ec41928b26e7d"},
    {0x1302, 1, "content", 0, "170303001879233b0fa6b18320d48b65e823d9f7cbd7e8c491ed21b46d"},
    {0x1302, 0xffffffff, "content", 0,
     "17030300183f1284c6e4fd3fecd079513abad6205cf87b94a4d014ea3e"},
    {0x1302, 0x100000000, "content", 0,
     "1703030018bcc190e7a17a0fc19cab880655d41890d109369857da1e9e"},
    {0x1302, 0xffffffffffff, "content", 0,
     "1703030018b8eb47d5a024db33449f081bb13932334ff764f66ab73b5e"},
    {0x1302, 0, "", 0, "1703030011906823c1d89edcfa1c65f21806e0fdc78e"},
    {0x1302, 0, "content", 5,
     "170303001de4b570a44f5bfde46d20962b6741cf25928ccdfca0ab57263656a05172"},
    {0x1303, 0, "content", 0, "170303001899a6c964decb50679bbf8273590dc229264ca8c5ef33e95c"},
    {0x1303, 1, "content", 0, "17030300181d12018013748313055e848bb65af413896e43d85cd29b3e"},
    {0x1303, 0xffffffff, "content", 0,
     "170303001877fb5fbb24761adb1457bee241efae0e124f49b7c5a8f69b"},
    {0x1303, 0x100000000, "content", 0,
     "17030300188d225bd5dda2045229adf7dc4e9b36d6d6edc6f4a1a16169"},
    {0x1303, 0xffffffffffff, "content", 0,
     "1703030018436449083390f5dfff991168946d51833e217a8142fc5104"},
    {0x1303, 0, "", 0, "1703030011ed3ecf4665ab81ed0e2410d57c392507d0"},
    {0x1303, 0, "content", 5,
     "170303001d99a6c964decb50676a97b1f6578b7f70951e10cba775bdfbb2d8bc13b6"},
}};

TEST(TlsVectors, SealsAndOpensWithEachSuiteAndSequenceNumber) {
  for (const Record& row : records) {
    SCOPED_TRACE(row.bytes);
    const Secret secret = secret_of(suite_of(row.suite).secret());
    std::optional<TlsProtection> writer =
        TlsProtection::make(Use::seal, row.suite, secret, row.number);
    std::optional<TlsProtection> reader =
        TlsProtection::make(Use::open, row.suite, secret, row.number);
    ASSERT_TRUE(writer && reader);
    EXPECT_EQ(sealed(*writer, row.content, row.zeros), bytes_of(row.bytes));
    EXPECT_EQ(opened(*reader, bytes_of(row.bytes)),
              row.content + std::string("\x17") + std::string(row.zeros, '\0'));
    EXPECT_EQ(writer->records(), row.number + 1);
    EXPECT_EQ(reader->records(), row.number + 1);
    // The number is part of the nonce.
    reader = TlsProtection::make(Use::open, row.suite, secret, row.number ^ 1U << 31);
    ASSERT_TRUE(reader);
    EXPECT_EQ(opened(*reader, bytes_of(row.bytes)), std::nullopt);
  }
}

TEST(TlsVectors, DerivesTheNextGenerationOfKeys) {
  for (const Suite& suite : suites) {
    SCOPED_TRACE(suite.number);
    const Secret secret = secret_of(suite.secret());
    std::optional<TlsProtection> writer = TlsProtection::make(Use::seal, suite.number, secret, 7);
    std::optional<TlsProtection> reader = TlsProtection::make(Use::open, suite.number, secret, 7);
    ASSERT_TRUE(writer && reader && writer->update() && reader->update());
    EXPECT_EQ(writer->records(), 0U);
    EXPECT_EQ(sealed(*writer, "content"), bytes_of(suite.updated));
    EXPECT_EQ(opened(*reader, bytes_of(suite.updated)), "content\x17");
  }
}

// --- what a server refuses
// -------------------------------------------------------------------------

// The first record with that inner plaintext, of any length.
std::string sealed_by_evp(const Suite& suite, std::string_view inner) {
  constexpr std::array names = {"AES-128-GCM", "AES-256-GCM", "ChaCha20-Poly1305"};
  const std::string key = bytes_of(suite.key);
  const std::string iv = bytes_of(suite.iv);  // the first record's nonce
  const std::size_t size = inner.size() + tls_tag_bytes;
  std::string record = {'\x17', '\x03', '\x03', static_cast<char>(size >> 8),
                        static_cast<char>(size)};
  const std::string header = record;
  record.resize(header.size() + size);
  auto* const body = reinterpret_cast<unsigned char*>(record.data()) + header.size();
  const std::unique_ptr<EVP_CIPHER, void (*)(EVP_CIPHER*)> cipher(
      EVP_CIPHER_fetch(nullptr, names.at(suite.number - 0x1301U), nullptr), EVP_CIPHER_free);
  const std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context(EVP_CIPHER_CTX_new(),
                                                                           EVP_CIPHER_CTX_free);
  int done = 0;
  EXPECT_EQ(EVP_EncryptInit_ex2(context.get(), cipher.get(), unsigned_bytes(key),
                                unsigned_bytes(iv), nullptr),
            1);
  EXPECT_EQ(EVP_EncryptUpdate(context.get(), nullptr, &done, unsigned_bytes(header), 5), 1);
  EXPECT_EQ(EVP_EncryptUpdate(context.get(), body, &done, unsigned_bytes(inner),
                              static_cast<int>(inner.size())),
            1);
  EXPECT_EQ(EVP_EncryptFinal_ex(context.get(), body + inner.size(), &done), 1);
  EXPECT_EQ(
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, tls_tag_bytes, body + inner.size()),
      1);
  return record;
}

constexpr int no_alert = -1;
constexpr int unexpected_message = 10;
constexpr int bad_record_mac = 20;
constexpr int record_overflow = 22;

// What a server makes of a client's first record.
struct Taken {
  std::string content;
  Ending ending = Ending::none;
  int alert = no_alert;  // that it sends
};

Taken taken(const Suite& suite, std::string_view record, std::size_t piece_bytes) {
  const TlsRecords::Start start{.suite = suite.number,
                                .client = secret_of(suite.secret()),
                                .server = secret_of(suite.secret())};
  const std::unique_ptr<TlsRecords> server = TlsRecords::make(start);
  EXPECT_NE(server, nullptr);
  Taken result;
  std::vector<char> room(tls_encrypted_bytes_max);
  base::BufferChain out;
  for (; !record.empty(); record.remove_prefix(std::min(piece_bytes, record.size()))) {
    std::string_view piece = record.substr(0, piece_bytes);
    result.content.append(room.data(), server->open(piece, room, out));
  }
  result.ending = server->ending();
  std::optional<TlsProtection> client =
      TlsProtection::make(Use::open, suite.number, secret_of(suite.secret()), 0);
  if (out.empty() || !client) return result;
  const std::optional<std::string> alert = opened(*client, out.front());
  EXPECT_TRUE(alert && alert->size() == 3 && alert->starts_with('\2') && alert->ends_with('\x15'));
  result.alert = alert ? static_cast<unsigned char>(alert->at(1)) : no_alert;
  return result;
}

// The record as it is, whole and in pieces.
void expect_taken(const Suite& suite, std::string_view record, int alert,
                  std::string_view content = "") {
  for (const std::size_t piece_bytes : {record.size(), std::size_t{1000}, std::size_t{3}}) {
    const Taken result = taken(suite, record, piece_bytes);
    EXPECT_EQ(result.alert, alert);
    EXPECT_EQ(result.ending, alert == no_alert ? Ending::none : Ending::broken);
    EXPECT_TRUE(result.content == content) << result.content.size();
  }
}

std::string changed(std::string record, std::size_t at) {
  record[at] = static_cast<char>(record[at] ^ 1);
  return record;
}

TEST(TlsVectors, RefusesRecordsThatWereChanged) {
  for (const Suite& suite : suites) {
    const std::string record = sealed_by_evp(suite, "content\x17");
    const std::size_t end = record.size();
    const std::size_t tag = end - tls_tag_bytes;
    expect_taken(suite, record, no_alert, "content");
    struct Row {
      const char* what;
      std::string record;
    };
    std::string shorter = record.substr(0, end - 1);
    shorter[4] = static_cast<char>(shorter[4] - 1);
    std::string longer = record + '\0';
    longer[4] = static_cast<char>(longer[4] + 1);
    std::string without_first = record;
    without_first.erase(5, 1);
    without_first[4] = static_cast<char>(without_first[4] - 1);
    std::string tag_alone = record.substr(0, 5) + record.substr(tag);
    tag_alone[4] = tls_tag_bytes;
    for (const Row& row :
         {Row{"the tag's first byte", changed(record, tag)},
          Row{"the tag's last byte", changed(record, end - 1)},
          Row{"the ciphertext's first byte", changed(record, 5)},
          Row{"the encrypted type", changed(record, tag - 1)},
          Row{"legacy_record_version", changed(record, 2)},
          Row{"a tag without its last byte", shorter}, Row{"a tag with another byte", longer},
          Row{"ciphertext without its first byte", without_first},
          Row{"a tag of zeros", record.substr(0, tag) + std::string(tls_tag_bytes, '\0')},
          Row{"a tag without ciphertext", tag_alone}}) {
      SCOPED_TRACE(std::to_string(suite.number) + ": " + row.what);
      expect_taken(suite, row.record, bad_record_mac);
    }
  }
}

TEST(TlsVectors, TakesRecordsUpToTheLongest) {
  const auto inner = [](std::size_t size, std::size_t zeros) {
    return std::string(size, 'x') + '\x17' + std::string(zeros, '\0');
  };
  constexpr std::size_t longest = tls_content_bytes_max;
  for (const Suite& suite : suites) {
    SCOPED_TRACE(suite.number);
    expect_taken(suite, sealed_by_evp(suite, inner(0, 0)), no_alert);
    expect_taken(suite, sealed_by_evp(suite, inner(longest, 0)), no_alert,
                 std::string(longest, 'x'));
    expect_taken(suite, sealed_by_evp(suite, inner(longest - 1, 1)), no_alert,
                 std::string(longest - 1, 'x'));
    expect_taken(suite, sealed_by_evp(suite, inner(0, longest)), no_alert);
    // RFC 8446, 5.2 and 5.4: the inner plaintext has at most 2^14 + 1 bytes, with its padding.
    expect_taken(suite, sealed_by_evp(suite, inner(longest + 1, 0)), record_overflow);
    expect_taken(suite, sealed_by_evp(suite, inner(longest, 1)), record_overflow);
    expect_taken(suite, sealed_by_evp(suite, inner(1, longest)), record_overflow);
    const std::string encrypted_longest = sealed_by_evp(suite, inner(longest + 239, 0));
    ASSERT_EQ(encrypted_longest.size(), tls_header_bytes + longest + 256);
    expect_taken(suite, encrypted_longest, record_overflow);
    expect_taken(suite, changed(encrypted_longest, 100), bad_record_mac);
    // Longer ciphertext is refused by its header, whoever has made it.
    const std::string too_long = sealed_by_evp(suite, inner(longest + 240, 0));
    expect_taken(suite, too_long.substr(0, tls_header_bytes), record_overflow);
    expect_taken(suite, changed(too_long, 100), record_overflow);
  }
}

TEST(TlsVectors, RefusesRecordsWithoutContentType) {
  for (const Suite& suite : suites) {
    for (const std::size_t zeros : {1U, 2U, 16U, 17U, 16'384U, 16'385U}) {
      SCOPED_TRACE(std::to_string(suite.number) + ": " + std::to_string(zeros));
      expect_taken(suite, sealed_by_evp(suite, std::string(zeros, '\0')), unexpected_message);
    }
  }
}

}  // namespace tls_vectors_test
}  // namespace h2server::net
