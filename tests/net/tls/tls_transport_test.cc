// TlsTransport against OpenSSL's own client, which runs in a second thread.
#include "net/tls/tls_transport.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "h2server/task_group.h"
#include "io/epoll_engine.h"
#include "net/certs/tls_certificate.h"

namespace h2server::net {
namespace tls_transport_test {

constexpr std::uint32_t timeout_ms = 60'000;

std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

struct Kind {
  const char* name;
  int version;
  const char* suites;  // of TLS 1.3
  TlsRecordLayer layer;
};

constexpr std::array kinds = {
    Kind{"Tls12", TLS1_2_VERSION, nullptr, TlsRecordLayer::own},
    Kind{"Tls13", TLS1_3_VERSION, nullptr, TlsRecordLayer::own},
    Kind{"Tls13Aes128", TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256", TlsRecordLayer::own},
    Kind{"Tls13ChaCha", TLS1_3_VERSION, "TLS_CHACHA20_POLY1305_SHA256", TlsRecordLayer::own},
    Kind{"Tls13OpenSsl", TLS1_3_VERSION, nullptr, TlsRecordLayer::openssl},
};

// The client's end of a connection. Blocking.
class Client {
 public:
  // `prepare` may change the context before the connection is made of it.
  Client(base::Fd connection, std::string_view protocols, const Kind& kind,
         const std::function<void(SSL_CTX*)>& prepare)
      : connection_(std::move(connection)),
        context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
    SSL_CTX_set_max_proto_version(context_.get(), kind.version);
    if (kind.suites != nullptr) SSL_CTX_set_ciphersuites(context_.get(), kind.suites);
    if (prepare) prepare(context_.get());
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(protocols.data()),
                        static_cast<unsigned>(protocols.size()));
    SSL_set_fd(ssl_.get(), connection_.get());
  }

  bool connect() { return SSL_connect(ssl_.get()) == 1; }
  std::string protocol() const {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }
  bool write(std::string_view bytes) {
    std::size_t done = 0;
    return SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &done) == 1;
  }
  // Returns `size` bytes, or fewer if the stream ends first.
  std::string read(std::size_t size) {
    std::string all(size, '\0');
    std::size_t filled = 0;
    while (filled < size) {
      std::size_t got = 0;
      const int verdict = SSL_read_ex(ssl_.get(), all.data() + filled, size - filled, &got);
      if (verdict != 1) {
        ended_ = SSL_get_error(ssl_.get(), verdict);
        break;
      }
      filled += got;
    }
    all.resize(filled);
    return all;
  }
  // The SSL_get_error() code that ended reading: SSL_ERROR_ZERO_RETURN after close_notify.
  int ended() const { return ended_; }
  void shutdown() { SSL_shutdown(ssl_.get()); }
  void cut() { ::shutdown(connection_.get(), SHUT_WR); }
  int fd() const { return connection_.get(); }
  SSL* ssl() { return ssl_.get(); }

 private:
  base::Fd connection_;
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_{nullptr, SSL_free};
  int ended_ = 0;
};

constexpr std::size_t overhead_bytes = 17;  // type and tag

// Notes the sizes of the records of application data that the client receives, without their
// headers. OpenSSL 3.5 wants to know before the handshake, whose records TLS 1.3 gives the same
// type.
void note_records(Client& client, std::vector<std::size_t>& records) {
  SSL_set_msg_callback(
      client.ssl(), [](int writes, int, int type, const void* bytes, std::size_t, SSL*, void* to) {
        const auto* const head = static_cast<const unsigned char*>(bytes);
        if (writes != 0 || type != SSL3_RT_HEADER || head[0] != SSL3_RT_APPLICATION_DATA) return;
        static_cast<std::vector<std::size_t>*>(to)->push_back(head[3] * 256U + head[4]);
      });
  SSL_set_msg_callback_arg(client.ssl(), &records);
}

class TlsTransportTest : public testing::TestWithParam<Kind> {
 protected:
  static void SetUpTestSuite() {
    std::signal(SIGPIPE, SIG_IGN);  // the client's OpenSSL uses write(), which raises SIGPIPE
    std::string folder = testing::TempDir() + "tls_stream_XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    ASSERT_TRUE(make_self_signed(folder + "/crt", folder + "/key").has_value());
    for (const auto layer : {TlsRecordLayer::own, TlsRecordLayer::openssl}) {
      contexts_.push_back(
          TlsContext::open(folder + "/crt", folder + "/key", {}, {}, layer).value());
    }
    std::filesystem::remove_all(folder);
  }
  static void TearDownTestSuite() {
    contexts_.clear();
    std::signal(SIGPIPE, SIG_DFL);
  }

  TlsTransportTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    EXPECT_EQ(::fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    transport_.emplace(*engine_, base::Fd(ends[0]), context());
    client_end_ = base::Fd(ends[1]);
  }

  // Runs client and server until both have finished.
  void run(std::function<void(Client&)> client, const std::function<Task<void>()>& server,
           std::string_view protocols = "") {
    std::thread other([&, protocols] {
      Client made(std::move(client_end_), protocols, GetParam(), prepare_);
      client(made);
    });
    TaskGroup tasks;
    const auto serves = [&]() -> Task<void> {
      co_await server();
      transport_.reset();
      engine_->stop();
    };
    tasks.start(serves());
    if (tasks.running() > 0) engine_->run();
    other.join();
  }
  Task<bool> shake_hands() {
    const Result<void> done = co_await transport_->handshake(timeout_ms, timeout_ms);
    co_return done.has_value();
  }
  // Reads until the peer's end of stream. Returns the error code, or 0.
  Task<int> read_all(std::string& all) {
    for (;;) {
      const Result<io::Lease> lease = co_await transport_->read(timeout_ms);
      if (!lease) co_return lease.error().code;
      if (lease->empty()) co_return 0;
      all += lease->bytes();
    }
  }

  static const TlsContext& context() {
    return *contexts_.at(GetParam().layer == TlsRecordLayer::own ? 0 : 1);
  }

  static inline std::vector<std::shared_ptr<const TlsContext>> contexts_;
  std::function<void(SSL_CTX*)> prepare_;  // the client's context
  std::unique_ptr<io::EpollEngine> engine_ = io::EpollEngine::open().value();
  std::optional<TlsTransport> transport_;
  base::Fd client_end_;
};

struct Alpn {
  std::string offered;  // length-prefixed names
  std::string chosen;
};

TEST_P(TlsTransportTest, ChoosesTheProtocolItLikesBest) {
  const std::vector<Alpn> rows = {{"\x02h2\x08http/1.1", "h2"},
                                  {"\x08http/1.1\x02h2", "h2"},
                                  {"\x08http/1.1", "http/1.1"},
                                  {"\x02h3\x02h2", "h2"},
                                  {"", ""}};
  for (const Alpn& row : rows) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    ASSERT_EQ(::fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    transport_.emplace(*engine_, base::Fd(ends[0]), context());
    client_end_ = base::Fd(ends[1]);
    std::string client_says;
    std::string server_says;
    run(
        [&](Client& client) {
          EXPECT_TRUE(client.connect());
          client_says = client.protocol();
          client.read(1);  // waits until the server closes
        },
        [&]() -> Task<void> {
          EXPECT_TRUE(co_await shake_hands());
          server_says = transport_->protocol();
        },
        row.offered);
    EXPECT_EQ(client_says, row.chosen);
    EXPECT_EQ(server_says, row.chosen);
  }
}

TEST_P(TlsTransportTest, TellsAClientWithOtherProtocolsWhyNot) {
  int reason = 0;
  run(
      [&](Client& client) {
        EXPECT_FALSE(client.connect());
        reason = ERR_GET_REASON(ERR_peek_last_error());
        ERR_clear_error();
      },
      [&]() -> Task<void> {
        const Result<void> done = co_await transport_->handshake(timeout_ms, timeout_ms);
        EXPECT_EQ(done.has_value() ? 0 : done.error().code, EPROTO);
      },
      "\x02h3");
  EXPECT_EQ(reason, SSL_AD_REASON_OFFSET + 120);  // RFC 7301, 3.2: no_application_protocol
}

TEST_P(TlsTransportTest, EchoesAMegabyte) {
  const std::string sent = pattern(1'000'000);
  std::string back;
  int ended = 0;
  run(
      [&](Client& client) {
        ASSERT_TRUE(client.connect());
        for (std::size_t done = 0; done < sent.size(); done += 50'000) {
          ASSERT_TRUE(client.write(std::string_view(sent).substr(done, 50'000)));
          back += client.read(50'000);
        }
        client.shutdown();
        client.read(1);
        ended = client.ended();
      },
      [&]() -> Task<void> {
        EXPECT_TRUE(co_await shake_hands());
        for (;;) {
          const Result<io::Lease> lease = co_await transport_->read(timeout_ms);
          EXPECT_TRUE(lease.has_value());
          if (!lease || lease->empty()) break;
          base::BufferChain bytes;
          base::Pace pace = base::Pace::deadline(timeout_ms);
          bytes.append(lease->bytes());
          const Result<void> written = co_await transport_->write(bytes, pace);
          EXPECT_TRUE(written.has_value());
          EXPECT_TRUE(bytes.empty());
        }
        co_await transport_->finish(timeout_ms);
      });
  EXPECT_TRUE(back == sent);
  EXPECT_EQ(ended, SSL_ERROR_ZERO_RETURN);
}

// Pieces of every size, copied and shared: their bytes stay in order.
TEST_P(TlsTransportTest, WritesAChainOfManyPieces) {
  const std::string sent = pattern(700'000);
  std::string received;
  run(
      [&](Client& client) {
        ASSERT_TRUE(client.connect());
        received = client.read(sent.size() + 1);
        EXPECT_EQ(client.ended(), SSL_ERROR_ZERO_RETURN);
      },
      [&]() -> Task<void> {
        EXPECT_TRUE(co_await shake_hands());
        base::BufferChain bytes;
        base::Pace pace = base::Pace::deadline(timeout_ms);
        std::size_t size = 1;
        for (std::size_t done = 0; done < sent.size(); size = size * 7 % 40'009 + 1) {
          const std::string_view piece = std::string_view(sent).substr(done, size);
          if (size % 2 == 0) {
            bytes.append_shared(piece, nullptr);
          } else {
            bytes.append(piece);
          }
          done += piece.size();
        }
        const Result<void> written = co_await transport_->write(bytes, pace);
        EXPECT_TRUE(written.has_value());
        co_await transport_->finish(timeout_ms);
      });
  EXPECT_TRUE(received == sent);
}

// A record can be decrypted only once it is complete, so each of the first ones fits a packet.
TEST_P(TlsTransportTest, BeginsWithSmallRecords) {
  const std::string sent = pattern(300'000);
  std::vector<std::size_t> records;
  run(
      [&](Client& client) {
        note_records(client, records);
        ASSERT_TRUE(client.connect());
        records.clear();
        EXPECT_TRUE(client.read(sent.size()) == sent);
      },
      [&]() -> Task<void> {
        EXPECT_TRUE(co_await shake_hands());
        base::BufferChain bytes;
        base::Pace pace = base::Pace::deadline(timeout_ms);
        bytes.append(sent);
        const Result<void> written = co_await transport_->write(bytes, pace);
        EXPECT_TRUE(written.has_value());
      });
  constexpr std::size_t packet_bytes = 1500 - 40 - 20 - 12 - 5;
  constexpr std::size_t small_records = 64 * 1024 / 1400;
  ASSERT_GT(records.size(), small_records);
  for (std::size_t i = 0; i < small_records; ++i) EXPECT_LE(records[i], packet_bytes) << i;
  EXPECT_GE(*std::ranges::max_element(records), 16'000U);
  EXPECT_LE(records.size(), small_records + 25);
}

// The kernel passes at most 65,536 bytes through a network card at once, with the heads of TCP and
// IP; a batch of records fills that and no more.
TEST_P(TlsTransportTest, FillsPacketsWithWholeBatches) {
  run(
      [&](Client& client) {
        ASSERT_TRUE(client.connect());
        client.read(1);  // waits until the server closes
      },
      [&]() -> Task<void> {
        EXPECT_TRUE(co_await shake_hands());
        const std::size_t batch = transport_->whole_sends(128 * 1024) / 2;
        EXPECT_GT(batch + 4 * overhead_bytes, 63'000U);
        EXPECT_LE(batch + 4 * (overhead_bytes + 16), 65'536U - 120);
        EXPECT_EQ(transport_->whole_sends(256 * 1024), 4 * batch);
        EXPECT_EQ(transport_->whole_sends(batch), batch);
        EXPECT_EQ(transport_->whole_sends(32 * 1024), 32U * 1024) << "never more than was allowed";
      });
}

TEST_P(TlsTransportTest, ReadsWhatCameWithTheLastWordsOfTheHandshake) {
  std::string received;
  run(
      [&](Client& client) {
        ASSERT_TRUE(client.connect());
        EXPECT_TRUE(client.write("at once"));
        client.shutdown();
        client.read(1);  // waits until the server closes
      },
      [&]() -> Task<void> {
        EXPECT_TRUE(co_await shake_hands());
        EXPECT_EQ(co_await read_all(received), 0);
        EXPECT_EQ(co_await read_all(received), 0);  // the end of stream is sticky
      });
  EXPECT_EQ(received, "at once");
}

TEST_P(TlsTransportTest, TakesAConnectionThatIsCutForTheEnd) {
  std::string received;
  run(
      [&](Client& client) {
        ASSERT_TRUE(client.connect());
        EXPECT_TRUE(client.write("some"));
        client.cut();
        client.read(1);
      },
      [&]() -> Task<void> {
        EXPECT_TRUE(co_await shake_hands());
        EXPECT_EQ(co_await read_all(received), 0);
      });
  EXPECT_EQ(received, "some");
}

TEST_P(TlsTransportTest, RefusesBytesThatAreNoTls) {
  run(
      [&](Client& client) {
        EXPECT_EQ(::send(client.fd(), "SSH-2.0-a_client\r\n", 18, MSG_NOSIGNAL), 18);
        std::array<char, 100> answer{};
        while (::recv(client.fd(), answer.data(), answer.size(), 0) > 0) continue;
      },
      [&]() -> Task<void> {
        const Result<void> done = co_await transport_->handshake(timeout_ms, timeout_ms);
        EXPECT_EQ(done.has_value() ? 0 : done.error().code, EPROTO);
      });
}

TEST_P(TlsTransportTest, TellsAClientThatForgotTheS) {
  std::string answer;
  run(
      [&](Client& client) {
        EXPECT_EQ(::send(client.fd(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 18);
        std::array<char, 1000> room{};
        for (ssize_t size; (size = ::recv(client.fd(), room.data(), room.size(), 0)) > 0;) {
          answer.append(room.data(), static_cast<std::size_t>(size));
        }
      },
      [&]() -> Task<void> {
        const Result<void> done = co_await transport_->handshake(timeout_ms, timeout_ms);
        EXPECT_FALSE(done.has_value());
      });
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 Bad Request\r\n")) << answer;
  const std::string body = answer.substr(answer.find("\r\n\r\n") + 4);
  EXPECT_NE(body.find("https://"), std::string::npos) << answer;
  EXPECT_NE(answer.find("Content-Length: " + std::to_string(body.size()) + "\r\n"),
            std::string::npos);
}

TEST_P(TlsTransportTest, RefusesBytesThatWereChanged) {
  run(
      [&](Client& client) {
        ASSERT_TRUE(client.connect());
        const std::string record("\x17\x03\x03\0\x20"
                                 "0123456789abcdef0123456789abcdef",
                                 37);
        EXPECT_EQ(::send(client.fd(), record.data(), record.size(), MSG_NOSIGNAL), 37);
        client.read(1);
      },
      [&]() -> Task<void> {
        EXPECT_TRUE(co_await shake_hands());
        std::string received;
        EXPECT_EQ(co_await read_all(received), EPROTO);
        EXPECT_EQ(received, "");
      });
}

TEST_P(TlsTransportTest, AHandshakeHasADeadline) {
  run(
      [&](Client& client) {
        std::array<char, 1> byte{};
        EXPECT_EQ(::recv(client.fd(), byte.data(), 1, 0), 0);  // sends nothing, waits for the end
      },
      [&]() -> Task<void> {
        const Result<void> done = co_await transport_->handshake(1, timeout_ms);
        EXPECT_EQ(done.has_value() ? 0 : done.error().code, ETIMEDOUT);
      });
}

TEST_P(TlsTransportTest, AHandshakeMayBeCutOff) {
  run([&](Client& client) { client.cut(); },
      [&]() -> Task<void> {
        const Result<void> done = co_await transport_->handshake(timeout_ms, timeout_ms);
        EXPECT_EQ(done.has_value() ? 0 : done.error().code, ECONNRESET);
      });
}

// Both ends change their keys between pieces, and the client pads its records.
TEST_P(TlsTransportTest, ChangesKeysWhileBytesTravel) {
  if (GetParam().version < TLS1_3_VERSION) GTEST_SKIP() << "TLS 1.3 only";
  const std::string sent = pattern(400'000);
  prepare_ = [](SSL_CTX* context) { SSL_CTX_set_block_padding(context, 512); };
  std::string back;
  run(
      [&](Client& client) {
        ASSERT_TRUE(client.connect());
        for (std::size_t done = 0; done < sent.size(); done += 20'000) {
          const int kind =
              done % 40'000 == 0 ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED;
          ASSERT_EQ(SSL_key_update(client.ssl(), kind), 1);
          ASSERT_TRUE(client.write(std::string_view(sent).substr(done, 20'000)));
          back += client.read(20'000);
        }
        client.shutdown();
      },
      [&]() -> Task<void> {
        EXPECT_TRUE(co_await shake_hands());
        for (;;) {
          const Result<io::Lease> lease = co_await transport_->read(timeout_ms);
          EXPECT_TRUE(lease.has_value());
          if (!lease || lease->empty()) break;
          base::BufferChain bytes;
          base::Pace pace = base::Pace::deadline(timeout_ms);
          bytes.append(lease->bytes());
          const Result<void> written = co_await transport_->write(bytes, pace);
          EXPECT_TRUE(written.has_value());
        }
      });
  EXPECT_TRUE(back == sent);
}

// RFC 6066, 4.
TEST_P(TlsTransportTest, KeepsTheMaximumFragmentLength) {
  prepare_ = [](SSL_CTX* context) {
    SSL_CTX_set_tlsext_max_fragment_length(context, TLSEXT_max_fragment_length_1024);
  };
  const std::string sent = pattern(200'000);
  std::vector<std::size_t> records;
  run(
      [&](Client& client) {
        note_records(client, records);
        ASSERT_TRUE(client.connect());
        records.clear();
        EXPECT_TRUE(client.read(sent.size()) == sent);
      },
      [&]() -> Task<void> {
        EXPECT_TRUE(co_await shake_hands());
        base::BufferChain bytes;
        base::Pace pace = base::Pace::deadline(timeout_ms);
        bytes.append(sent);
        const Result<void> written = co_await transport_->write(bytes, pace);
        EXPECT_TRUE(written.has_value());
      });
  ASSERT_FALSE(records.empty());
  EXPECT_LE(*std::ranges::max_element(records), 1024 + 24U);  // TLS 1.2 has a nonce in each
}

// RFC 8449: an extension that OpenSSL's client does not have, so the test adds it.
struct SizeLimit {
  std::array<unsigned char, 2> offered;
  std::vector<unsigned> answers;

  static int add(SSL*, unsigned, unsigned, const unsigned char** bytes, std::size_t* size, X509*,
                 std::size_t, int*, void* self) {
    *bytes = static_cast<SizeLimit*>(self)->offered.data();
    *size = 2;
    return 1;
  }
  static int parse(SSL*, unsigned, unsigned, const unsigned char* bytes, std::size_t size, X509*,
                   std::size_t, int*, void* self) {
    if (size != 2) return 0;
    static_cast<SizeLimit*>(self)->answers.push_back(bytes[0] * 256U + bytes[1]);
    return 1;
  }
  void install(SSL_CTX* context) {
    SSL_CTX_add_custom_ext(context, 28, SSL_EXT_CLIENT_HELLO | SSL_EXT_TLS1_3_ENCRYPTED_EXTENSIONS,
                           add, nullptr, this, parse, this);
  }
};

TEST_P(TlsTransportTest, KeepsTheRecordSizeLimit) {
  if (GetParam().version < TLS1_3_VERSION || GetParam().layer == TlsRecordLayer::openssl) {
    GTEST_SKIP() << "OpenSSL 3.0 lacks the extension";
  }
  const std::string sent = pattern(200'000);
  for (const unsigned limit : {64U, 511U, 513U, 1000U, 16'385U, 65'535U}) {
    SCOPED_TRACE(limit);
    SizeLimit extension{
        .offered = {static_cast<unsigned char>(limit >> 8), static_cast<unsigned char>(limit)},
        .answers = {}};
    prepare_ = [&](SSL_CTX* context) { extension.install(context); };
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    ASSERT_EQ(::fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    transport_.emplace(*engine_, base::Fd(ends[0]), context());
    client_end_ = base::Fd(ends[1]);
    std::vector<std::size_t> records;
    run(
        [&](Client& client) {
          note_records(client, records);  // those of the handshake, too
          ASSERT_TRUE(client.connect());
          EXPECT_TRUE(client.read(sent.size()) == sent);
        },
        [&]() -> Task<void> {
          EXPECT_TRUE(co_await shake_hands());
          base::BufferChain bytes;
          base::Pace pace = base::Pace::deadline(timeout_ms);
          bytes.append(sent);
          const Result<void> written = co_await transport_->write(bytes, pace);
          EXPECT_TRUE(written.has_value());
        });
    // OpenSSL writes the handshake, in records of at least 512 bytes: smaller limits are declined.
    const bool answered = limit >= 513;
    EXPECT_EQ(extension.answers, answered ? std::vector{16'385U} : std::vector<unsigned>{});
    ASSERT_FALSE(records.empty());
    const std::size_t largest = *std::ranges::max_element(records);
    const std::size_t content_bytes_max = answered ? std::min(limit - 1U, 16'000U) : 16'000U;
    EXPECT_EQ(largest, content_bytes_max + overhead_bytes);
  }
}

TEST_P(TlsTransportTest, RefusesARecordSizeLimitThatIsTooSmall) {
  if (GetParam().version < TLS1_3_VERSION || GetParam().layer == TlsRecordLayer::openssl) {
    GTEST_SKIP() << "OpenSSL 3.0 lacks the extension";
  }
  SizeLimit extension{.offered = {0, 63}, .answers = {}};
  prepare_ = [&](SSL_CTX* context) { extension.install(context); };
  run([&](Client& client) { EXPECT_FALSE(client.connect()); },
      [&]() -> Task<void> { EXPECT_FALSE(co_await shake_hands()); });
}

INSTANTIATE_TEST_SUITE_P(Kinds, TlsTransportTest, testing::ValuesIn(kinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace tls_transport_test
}  // namespace h2server::net
