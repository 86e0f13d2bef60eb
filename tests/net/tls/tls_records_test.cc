// TlsRecords and TlsProtection against RFC 8448's trace, and record by record against a peer made
// of TlsProtection. Against OpenSSL as peer: tls_transport_test.
#include "net/tls/tls_records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/tls/tls_protection.h"
#include "net/tls_secret.h"

namespace h2server::net {
namespace tls_records_test {

using Secret = TlsProtection::Secret;
using Use = TlsProtection::Use;
using Ending = TlsRecords::Ending;

constexpr std::uint16_t aes_128_gcm = 0x1301;

std::string text_of(const base::BufferChain& chain) {
  std::vector<iovec> pieces(chain.pieces());
  pieces.resize(chain.gather(pieces));
  std::string text;
  for (const iovec& piece : pieces) {
    text.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  }
  return text;
}

// A record of any kind.
std::string sealed(TlsProtection& by, TlsContentType type, std::string_view content) {
  const iovec piece{const_cast<char*>(content.data()), content.size()};
  std::string record(content.size() + tls_record_overhead, '\0');
  EXPECT_TRUE(by.seal(type, {&piece, 1}, content.size(), record.data()));
  return record;
}

// In the order of writing: that in which the operands of + are made is not defined.
std::string joined(std::initializer_list<std::string> records) {
  std::string all;
  for (const std::string& record : records) all += record;
  return all;
}

// What a record holds: its content and type, with its padding.
std::string opened(TlsProtection& by, std::string_view& records) {
  TlsProtection::Header header;
  std::copy_n(records.begin(), header.size(), header.begin());
  const std::size_t size = header[3] * 256U + header[4];
  const iovec piece{const_cast<char*>(records.data()) + header.size(), size};
  std::string inner(size - tls_tag_bytes, '\0');
  EXPECT_TRUE(by.open(header, {&piece, 1}, size, inner.data()));
  records.remove_prefix(header.size() + size);
  return inner;
}

// RFC 8448, 3: the traffic secrets, and 50 bytes of application data each way.
const std::string client_secret =
    bytes_of("9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5");
const std::string server_secret =
    bytes_of("a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643");
const std::string client_record = bytes_of(
    "17 03 03 00 43 a2 3f 70 54 b6 2c 94 d0 af fa fe 82 28 ba 55 cb ef ac ea 42 f9 14 aa 66 bc ab "
    "3f 2b 98 19 a8 a5 b4 6b 39 5b d5 4a 9a 20 44 1e 2b 62 97 4e 1f 5a 62 92 a2 97 70 14 bd 1e 3d "
    "ea e6 3a ee bb 21 69 49 15 e4");
const std::string client_closes =
    bytes_of("17 03 03 00 13 c9 87 27 60 65 56 66 b7 4d 7f f1 15 3e fd 6d b6 d0 b0 e3");
const std::string server_record = bytes_of(
    "17 03 03 00 43 2e 93 7e 11 ef 4a c7 40 e5 38 ad 36 00 5f c4 a4 69 32 fc 32 25 d0 5f 82 aa 1b "
    "36 e3 0e fa f9 7d 90 e6 df fc 60 2d cb 50 1a 59 a8 fc c4 9c 4b f2 e5 f0 a2 1c 00 47 c2 ab f3 "
    "32 54 0d d0 32 e1 67 c2 95 5d");
const std::string server_closes =
    bytes_of("17 03 03 00 13 b5 8f d6 71 66 eb f5 99 d2 47 20 cf be 7e fa 7a 88 64 a9");

std::string counted_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}

// A server's end, and the client's keys.
class TlsRecordsTest : public testing::Test {
 protected:
  explicit TlsRecordsTest(const TlsRecordsLimits& limits = {}) { start(aes_128_gcm, limits); }

  void start(std::uint16_t suite, const TlsRecordsLimits& limits = {}) {
    // SHA-384's secrets are longer.
    const std::size_t size = suite == 0x1302 ? 48 : 32;
    begin_ = {.suite = suite,
              .client = secret_of(client_secret + counted_bytes(size - 32)),
              .server = secret_of(server_secret + counted_bytes(size - 32)),
              .records_read = 0,
              .records_written = 1};  // a ticket
    records_ = TlsRecords::make(begin_, limits);
    ASSERT_NE(records_, nullptr);
    sender_ = TlsProtection::make(Use::seal, suite, begin_.client, 0);
    receiver_ = TlsProtection::make(Use::open, suite, begin_.server, 1);
    ASSERT_TRUE(sender_ && receiver_);
    out_.clear();
  }
  std::string data(std::string_view content) {
    return sealed(*sender_, TlsContentType::application_data, content);
  }
  std::string alert(char level, char description) {
    return sealed(*sender_, TlsContentType::alert, std::string{level, description});
  }
  std::string handshake(std::string_view message) {
    return sealed(*sender_, TlsContentType::handshake, message);
  }
  // Content of the records, which arrive in pieces of `piece_bytes`.
  std::string open(std::string_view records, std::size_t piece_bytes = 1 << 20) {
    std::vector<char> room(tls_encrypted_bytes_max);
    std::string content;
    while (!records.empty()) {
      std::string_view input = records.substr(0, piece_bytes);
      records.remove_prefix(input.size());
      while (!input.empty() && records_->ending() == Ending::none) {
        content.append(room.data(), records_->open(input, room, out_));
      }
    }
    return content;
  }
  // What the server sent since the last call, as the client sees it.
  std::vector<std::string> answers() {
    const std::string sent = text_of(out_);
    std::vector<std::string> all;
    for (std::string_view rest = sent; !rest.empty();) all.push_back(opened(*receiver_, rest));
    out_.clear();
    return all;
  }
  // The alert that the server sends at last; -1: none.
  int alert_sent() {
    const std::vector<std::string> all = answers();
    if (all.empty() || all.back().size() != 3 || all.back()[2] != 21) return -1;
    EXPECT_EQ(all.back()[0], 2);  // fatal
    return all.back()[1];
  }

  TlsRecords::Start begin_;
  std::unique_ptr<TlsRecords> records_;
  base::BufferChain out_;
  std::optional<TlsProtection> sender_;
  std::optional<TlsProtection> receiver_;
};

const std::string key_update = bytes_of("18 00 00 01 00");
const std::string key_update_requested = bytes_of("18 00 00 01 01");

TEST_F(TlsRecordsTest, ReadsAndWritesTheRecordsOfRfc8448) {
  EXPECT_EQ(open(client_record + client_closes), counted_bytes(50));
  EXPECT_EQ(records_->ending(), Ending::closed);
  base::BufferChain content;
  content.append(counted_bytes(50));
  ASSERT_TRUE(records_->seal(content, tls_content_bytes_max, out_));
  records_->close(out_);
  EXPECT_TRUE(content.empty());
  EXPECT_EQ(text_of(out_), server_record + server_closes);
}

TEST_F(TlsRecordsTest, TakesRecordsWholeAndInPiecesWithEverySuite) {
  for (const std::uint16_t suite : {0x1301, 0x1302, 0x1303}) {
    for (const std::size_t piece : {1U, 2U, 5U, 21U, 22U, 1000U, 16'000U, 1U << 20}) {
      SCOPED_TRACE(std::to_string(suite) + " in pieces of " + std::to_string(piece));
      start(suite);
      const std::string large = counted_bytes(tls_content_bytes_max);
      const std::string records =
          joined({data("one"), data(""), data(large), data("x"), alert(1, 0)});
      EXPECT_EQ(open(records, piece), "one" + large + "x");
      EXPECT_EQ(records_->ending(), Ending::closed);
      EXPECT_TRUE(answers().empty());
    }
  }
}

TEST_F(TlsRecordsTest, WritesPiecesOfEverySizeInOrder) {
  for (const std::uint16_t suite : {0x1301, 0x1302, 0x1303}) {
    for (const std::size_t first : {1U, 15U, 16U, 255U, 256U, 257U, 9000U}) {
      for (const std::size_t record : {1U, 16U, 300U, 16'384U}) {
        start(suite);
        const std::string text = counted_bytes(20'000);
        base::BufferChain content;
        std::size_t size = first;
        for (std::size_t at = 0; at < text.size(); size = size * 7 % 997 + 1) {
          content.append_shared(std::string_view(text).substr(at, size), nullptr);
          at += size;
        }
        std::string received;
        for (int i = 0; i < 3; ++i) {
          const std::size_t left = content.size();
          if (left == 0) break;
          ASSERT_TRUE(records_->seal(content, record, out_));
          EXPECT_LE(left - content.size(), record);
          EXPECT_LT(content.size(), left);
          for (std::string inner : answers()) {
            ASSERT_EQ(inner.back(), 23);
            inner.pop_back();
            received += inner;
          }
        }
        EXPECT_TRUE(text.starts_with(received)) << suite << ' ' << first << ' ' << record;
        EXPECT_EQ(received.size(), text.size() - content.size());
      }
    }
  }
}

struct Wrong {
  const char* what;
  TlsContentType type;
  std::string content;
  int alert;  // that the server sends; -1: none
};

TEST_F(TlsRecordsTest, AnswersEachViolationWithItsAlert) {
  const auto type = [](int number) { return static_cast<TlsContentType>(number); };
  const std::vector<Wrong> rows = {
      {"no content type", type(0), std::string(5, '\0'), 10},
      {"an unknown type", type(24), "x", 10},
      {"change_cipher_spec", type(20), "\x01", 10},
      {"an empty alert", type(21), "", 10},
      {"a half alert", type(21), "\x01", 10},
      {"two alerts", type(21), bytes_of("01 00 01 00"), 10},
      {"a fatal alert", type(21), bytes_of("02 28"), -1},
      {"a warning that is an error", type(21), bytes_of("01 28"), -1},
      {"an empty handshake", type(22), "", 10},
      {"ClientHello", type(22), bytes_of("01 00 00 00"), 10},
      {"Certificate", type(22), bytes_of("0b 00 00 04 00 00 00 00"), 10},
      {"KeyUpdate of no byte", type(22), bytes_of("18 00 00 00"), 50},
      {"KeyUpdate of two bytes", type(22), bytes_of("18 00 00 02 00 00"), 50},
      {"KeyUpdate of 65537 bytes", type(22), bytes_of("18 01 00 01 00"), 50},
      {"KeyUpdate with request 2", type(22), bytes_of("18 00 00 01 02"), 47},
      {"two KeyUpdates", type(22), key_update + key_update, 10},
      {"a byte behind KeyUpdate", type(22), key_update + "\x18", 10},
  };
  for (const Wrong& row : rows) {
    SCOPED_TRACE(row.what);
    start(aes_128_gcm);
    const std::string records = joined({data("before"), sealed(*sender_, row.type, row.content)});
    EXPECT_EQ(open(records + data("behind"), 3), "before");
    EXPECT_EQ(records_->ending(), Ending::broken);
    EXPECT_EQ(alert_sent(), row.alert);
    base::BufferChain content;
    content.append("more");
    EXPECT_FALSE(records_->seal(content, 100, out_));
    records_->close(out_);
    EXPECT_TRUE(out_.empty());
  }
}

TEST_F(TlsRecordsTest, RefusesHeadersBeforeTheRecordIsThere) {
  struct Row {
    const char* header;
    int alert;
  };
  for (const Row& row : {Row{"14 03 03 00 01", 10},  // change_cipher_spec
                         Row{"15 03 03 00 02", 10},  // an alert in cleartext
                         Row{"16 03 01 02 00", 10},  // ClientHello
                         Row{"47 45 54 20 2f", 10},  // GET /
                         Row{"17 03 03 41 01", 22},  // 2^14 + 257
                         Row{"17 03 03 ff ff", 22}, Row{"17 03 03 00 00", 20},
                         Row{"17 03 03 00 10", 20}}) {  // a tag alone
    SCOPED_TRACE(row.header);
    start(aes_128_gcm);
    EXPECT_EQ(open(bytes_of(row.header), 1), "");
    EXPECT_EQ(records_->ending(), Ending::broken);
    EXPECT_EQ(alert_sent(), row.alert);
  }
}

TEST_F(TlsRecordsTest, RefusesContentThatIsTooLong) {
  // 2^14 + 2 bytes of inner plaintext, which OpenSSL would not write.
  TlsRecords::Start small = begin_;
  small.content_read_bytes_max = 512;
  records_ = TlsRecords::make(small);
  EXPECT_EQ(open(data(counted_bytes(512))).size(), 512U);
  EXPECT_EQ(open(data(counted_bytes(513))), "");
  EXPECT_EQ(alert_sent(), 22);
}

// Every bit of a record. A changed length makes the server wait, or read another record's bytes.
TEST_F(TlsRecordsTest, NoticesEveryChangedBit) {
  for (const std::uint16_t suite : {0x1301, 0x1302, 0x1303}) {
    start(suite);
    const std::string record = data("some content");
    for (std::size_t bit = 0; bit < 8 * record.size(); ++bit) {
      start(suite);
      std::string changed = record;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
      EXPECT_EQ(open(changed), "") << bit;
      if (records_->ending() == Ending::none) {
        EXPECT_TRUE(bit / 8 == 3 || bit / 8 == 4) << bit;  // waits for more
        continue;
      }
      const bool in_length = bit / 8 == 3 || bit / 8 == 4;
      const int sent = alert_sent();
      EXPECT_TRUE(sent == (bit < 8 ? 10 : 20) || (in_length && sent == 22)) << bit << ": " << sent;
    }
  }
}

TEST_F(TlsRecordsTest, NoticesRecordsThatAreMissingRepeatedOrSwapped) {
  const std::string first = data("first");
  const std::string second = data("second");
  for (const std::string& records : {second, first + first, second + first}) {
    start(aes_128_gcm);
    open(records);
    EXPECT_EQ(alert_sent(), 20);
  }
}

TEST_F(TlsRecordsTest, FollowsTheClientsKeyUpdates) {
  for (const std::size_t piece : {1U, 1U << 20}) {
    start(aes_128_gcm);
    std::string records = joined({data("a"), handshake(key_update)});
    ASSERT_TRUE(sender_->update());
    records += joined({data("b"), handshake(key_update_requested)});
    ASSERT_TRUE(sender_->update());
    // In two records, as RFC 8446, 5.1 allows.
    records +=
        joined({data("c"), handshake(key_update.substr(0, 2)), handshake(key_update.substr(2))});
    ASSERT_TRUE(sender_->update());
    records += data("d");
    EXPECT_EQ(open(records, piece), "abcd");
    EXPECT_EQ(records_->ending(), Ending::none);

    const std::vector<std::string> all = answers();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0], key_update + "\x16");
    ASSERT_TRUE(receiver_->update());
    base::BufferChain content;
    content.append("with new keys");
    ASSERT_TRUE(records_->seal(content, 100, out_));
    EXPECT_EQ(answers().at(0), "with new keys\x17");
  }
}

TEST_F(TlsRecordsTest, RefusesRecordsBetweenThePartsOfAKeyUpdate) {
  for (const auto type : {TlsContentType::application_data, TlsContentType::alert}) {
    start(aes_128_gcm);
    EXPECT_EQ(open(joined(
                  {handshake(key_update.substr(0, 3)), sealed(*sender_, type, bytes_of("01 00"))})),
              "");
    EXPECT_EQ(alert_sent(), 10);
  }
}

TEST_F(TlsRecordsTest, BoundsRecordsWithoutContent) {
  const auto refused_after = [this](const auto& next) {
    start(aes_128_gcm);
    int count = 0;
    for (; count < 100 && records_->ending() == Ending::none; ++count) open(next());
    return count;
  };
  EXPECT_EQ(refused_after([this] { return data(""); }), 33);
  EXPECT_EQ(refused_after([this] { return alert(1, 90); }), 33);
  EXPECT_EQ(refused_after([this] {
              const std::string record = handshake(key_update);
              EXPECT_TRUE(sender_->update());
              return record;
            }),
            33);
  EXPECT_EQ(refused_after([this] { return joined({data(""), data("x")}); }), 100);
  EXPECT_EQ(alert_sent(), -1);
}

// RFC 8446, 5.5: both sides' keys, long before they have protected too much.
TEST_F(TlsRecordsTest, ChangesItsKeysAndAsksForTheClients) {
  start(aes_128_gcm, {.records_per_key_max = 4});
  std::vector<std::string> all;
  for (int i = 0; i < 10; ++i) {
    base::BufferChain content;
    content.append("x");
    ASSERT_TRUE(records_->seal(content, 100, out_));
    const std::string sent = text_of(out_);
    out_.clear();
    for (std::string_view rest = sent; !rest.empty();) {
      all.push_back(opened(*receiver_, rest));
      if (all.back().ends_with('\x16')) {
        ASSERT_TRUE(receiver_->update());
      }
    }
  }
  // The ticket counted, and each KeyUpdate counts with the old keys.
  EXPECT_EQ(std::ranges::count(all, key_update + "\x16"), 2);
  EXPECT_EQ(all.at(3), key_update + "\x16");
  EXPECT_EQ(all.at(8), key_update + "\x16");

  open(joined({data("1"), data("2"), data("3"), data("4")}));
  EXPECT_TRUE(out_.empty());
  EXPECT_EQ(open(joined({data("5"), data("6")})), "56");
  all = answers();
  EXPECT_EQ(all, std::vector{key_update_requested + "\x16"});  // once
  ASSERT_TRUE(receiver_->update());
  const std::string update = handshake(key_update);
  ASSERT_TRUE(sender_->update());
  EXPECT_EQ(open(update + data("7")), "7");
  EXPECT_TRUE(out_.empty());
}

TEST_F(TlsRecordsTest, LeavesOtherSuitesToOpenSsl) {
  begin_.suite = 0x1304;  // TLS_AES_128_CCM_SHA256
  EXPECT_EQ(TlsRecords::make(begin_), nullptr);
  begin_.suite = 0x1302;  // whose secrets are longer
  EXPECT_EQ(TlsRecords::make(begin_), nullptr);
}

}  // namespace tls_records_test
}  // namespace h2server::net
