#include "net/tls/tls_tickets.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/certs/tls_certificate.h"
#include "net/crypto/tls_objects.h"
#include "net/tls/tls_context.h"

namespace h2server::net {
namespace tls_tickets_test {

using Context = std::unique_ptr<SSL_CTX, FreeBy<SSL_CTX_free>>;
using Ssl = std::unique_ptr<SSL, FreeBy<SSL_free>>;
using Session = std::unique_ptr<SSL_SESSION, FreeBy<SSL_SESSION_free>>;

std::int64_t clock_s = 0;
std::int64_t now() { return clock_s; }

constexpr std::int64_t hour = 3600;
constexpr std::int64_t begin_of_epoch = 1000 * TicketKeys::epoch_s;

struct Outcome {
  bool resumed = false;
  Session session;
};

class TlsTickets : public testing::TestWithParam<int> {
 protected:
  static void SetUpTestSuite() {
    std::string folder = testing::TempDir() + "tls_tickets_XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    ASSERT_TRUE(make_self_signed(folder + "/crt", folder + "/key").has_value());
    context_ = TlsContext::open(folder + "/crt", folder + "/key").value();
    std::filesystem::remove_all(folder);
  }
  static void TearDownTestSuite() { context_.reset(); }

  TlsTickets() : client_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_max_proto_version(client_.get(), GetParam());
    clock_s = begin_of_epoch;
  }

  // Does a handshake, then passes a byte to the client, because TLS 1.3 tickets arrive after the
  // handshake.
  Outcome connect(SSL_SESSION* offered = nullptr) {
    const Ssl client(SSL_new(client_.get()));
    const Ssl server(SSL_new(context_->get()));
    BIO* ends[2];
    EXPECT_EQ(BIO_new_bio_pair(&ends[0], 0, &ends[1], 0), 1);
    SSL_set_bio(client.get(), ends[0], ends[0]);
    SSL_set_bio(server.get(), ends[1], ends[1]);
    SSL_set_connect_state(client.get());
    SSL_set_accept_state(server.get());
    if (offered != nullptr) {
      EXPECT_EQ(SSL_set_session(client.get(), offered), 1);
    }
    bool done = false;
    for (int round = 0; round < 10 && !done; ++round) {
      const bool connected = SSL_do_handshake(client.get()) == 1;
      done = SSL_do_handshake(server.get()) == 1 && connected;
    }
    EXPECT_TRUE(done);
    char byte = 'x';
    EXPECT_EQ(SSL_write(server.get(), &byte, 1), 1);
    EXPECT_EQ(SSL_read(client.get(), &byte, 1), 1);
    ERR_clear_error();
    const bool resumed = SSL_session_reused(client.get()) == 1;
    SSL_set_shutdown(client.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    return {resumed, Session(SSL_get1_session(client.get()))};
  }

  static inline std::shared_ptr<const TlsContext> context_;
  Context client_;
};

INSTANTIATE_TEST_SUITE_P(Versions, TlsTickets, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& version) {
                           return version.param == TLS1_2_VERSION ? "Tls12" : "Tls13";
                         });

std::string ticket_of(const Session& session) {
  const unsigned char* bytes = nullptr;
  std::size_t size = 0;
  SSL_SESSION_get0_ticket(session.get(), &bytes, &size);
  return {reinterpret_cast<const char*>(bytes), size};
}
// RFC 5077, section 4: a ticket begins with its key's name.
std::string key_name_of(const Session& session) { return ticket_of(session).substr(0, 16); }

TEST_P(TlsTickets, AreAcceptedInTheirEpochAndTheNext) {
  const TicketKeys keys(now);
  keys.install(context_->get());
  struct Row {
    std::int64_t made;
    std::int64_t used;
    bool resumes;
  };
  const std::vector<Row> rows = {
      {0, 0, true},
      {0, 12 * hour - 1, true},
      {0, 12 * hour, true},
      {0, 24 * hour - 1, true},
      {0, 24 * hour, false},
      {12 * hour - 1, 12 * hour, true},
      {12 * hour - 1, 24 * hour, false},
      {0, 1000 * hour, false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(std::to_string(row.made) + " to " + std::to_string(row.used));
    clock_s = begin_of_epoch + row.made;
    const Outcome first = connect();
    EXPECT_FALSE(first.resumed);
    ASSERT_FALSE(ticket_of(first.session).empty());
    clock_s = begin_of_epoch + row.used;
    const Outcome second = connect(first.session.get());
    EXPECT_EQ(second.resumed, row.resumes);
    const Outcome third = connect(second.session.get());
    EXPECT_TRUE(third.resumed) << "it has a ticket that is good";
  }
}

TEST_P(TlsTickets, OfTheEpochBeforeAreReplaced) {
  const TicketKeys keys(now);
  keys.install(context_->get());
  const Outcome first = connect();
  clock_s += TicketKeys::epoch_s;
  const Outcome second = connect(first.session.get());
  ASSERT_TRUE(second.resumed);
  EXPECT_NE(key_name_of(second.session), key_name_of(first.session));
  clock_s += TicketKeys::epoch_s;
  EXPECT_TRUE(connect(second.session.get()).resumed) << "two epochs after the first one";
}

// RFC 8446, section C.4.
TEST_P(TlsTickets, AreUsedOnceInTls13) {
  const TicketKeys keys(now);
  keys.install(context_->get());
  const Outcome first = connect();
  const Outcome second = connect(first.session.get());
  ASSERT_TRUE(second.resumed);
  EXPECT_EQ(ticket_of(first.session) != ticket_of(second.session), GetParam() == TLS1_3_VERSION);
  EXPECT_EQ(key_name_of(first.session), key_name_of(second.session));
}

struct Shared {
  std::vector<std::string> secrets;
  std::string terms;
};

// Two servers, each with secrets and a clock of its own.
TEST_P(TlsTickets, AreAcceptedByServersThatShareASecret) {
  const std::string a(80, 'a');
  const std::string b(32, 'b');
  constexpr std::int64_t epoch = TicketKeys::epoch_s;
  struct Row {
    Shared maker;
    Shared other;
    std::int64_t clock_of_other;
    bool resumes;
  };
  const std::vector<Row> rows = {
      {{{a}, ""}, {{a}, ""}, 0, true},
      {{{a}, ""}, {{b}, ""}, 0, false},
      {{{a}, ""}, {{b, a}, ""}, 0, true},
      {{{a, b}, ""}, {{b}, ""}, 0, false},
      {{{a}, "these clients"}, {{a}, "these clients"}, 0, true},
      {{{a}, "these clients"}, {{a}, "those"}, 0, false},
      {{{a}, "these clients"}, {{a}, ""}, 0, false},
      {{{a}, ""}, {{a}, ""}, epoch, true},
      {{{a}, ""}, {{a}, ""}, -epoch, true},
      {{{a}, ""}, {{b, a}, ""}, -epoch, true},
      {{{a}, ""}, {{a}, ""}, 2 * epoch, false},
      {{{a}, ""}, {{a}, ""}, -2 * epoch, false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(&row - rows.data());
    clock_s = begin_of_epoch;
    const TicketKeys maker(row.maker.secrets, row.maker.terms, now);
    maker.install(context_->get());
    const Outcome first = connect();
    clock_s = begin_of_epoch + row.clock_of_other;
    const TicketKeys other(row.other.secrets, row.other.terms, now);
    other.install(context_->get());
    const Outcome second = connect(first.session.get());
    EXPECT_EQ(second.resumed, row.resumes);
    const bool same_key = row.clock_of_other == 0 && row.other.secrets.front() == a;
    EXPECT_EQ(key_name_of(second.session) == key_name_of(first.session), row.resumes && same_key)
        << "tickets of other keys are replaced";
  }
}

// Each thread derives the keys itself.
TEST_P(TlsTickets, AreGoodForEveryThread) {
  const TicketKeys keys(now);
  keys.install(context_->get());
  const Outcome first = connect();
  for (int i = 0; i < 3; ++i) {
    std::thread([&] { EXPECT_TRUE(connect(first.session.get()).resumed); }).join();
  }
}

TEST_P(TlsTickets, ThatWereChangedAreRefused) {
  const TicketKeys keys(now);
  keys.install(context_->get());
  const Outcome first = connect();
  std::array<unsigned char, 16 * 1024> bytes;
  unsigned char* to = bytes.data();
  const int size = i2d_SSL_SESSION(first.session.get(), nullptr);
  ASSERT_LT(size, static_cast<int>(bytes.size()));
  i2d_SSL_SESSION(first.session.get(), &to);
  const std::string ticket = ticket_of(first.session);
  std::string encoded(reinterpret_cast<char*>(bytes.data()), static_cast<std::size_t>(size));
  const std::size_t at = encoded.find(ticket);
  ASSERT_NE(at, std::string::npos);
  for (const std::size_t place : {std::size_t{0}, std::size_t{16}, ticket.size() - 1}) {
    std::string changed = encoded;
    changed[at + place] = static_cast<char>(changed[at + place] ^ 1);
    const auto* from = reinterpret_cast<const unsigned char*>(changed.data());
    const Session session(d2i_SSL_SESSION(nullptr, &from, size));
    ASSERT_NE(session, nullptr);
    EXPECT_FALSE(connect(session.get()).resumed) << place;
  }
}

}  // namespace tls_tickets_test
}  // namespace h2server::net
