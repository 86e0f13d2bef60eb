// Starting: the errors, and that a failed start leaves nothing behind.
#include <sys/resource.h>

#include <vector>

#include "content/support.h"
#include "h2server/server.h"
#include "server/client.h"

namespace h2server {
namespace start_test {

using tests::Client;

TEST(Start, Errors) {
  const tests::TemporaryDirectory directory;
  directory.write("wrong.pem", "this is no certificate");
  Server occupant(tests::cleartext());
  ASSERT_TRUE(occupant.start());
  const std::uint16_t taken = tests::port_of(occupant);
  Server sharing(
      tests::cleartext(ServerScheme::reuseport));  // the kernel would let others share its port
  ASSERT_TRUE(sharing.start());
  const std::uint16_t shared = tests::port_of(sharing);
  struct Row {
    const char* name;
    std::function<void(ServerOptions&)> change;
    std::string text;  // must occur in the error
  };
  const std::vector<Row> rows = {
      {"port", [&](ServerOptions& o) { o.port = taken; }, std::to_string(taken) + " is in use"},
      {"port, acceptor",
       [&](ServerOptions& o) {
         o.port = taken;
         o.scheme = ServerScheme::acceptor;
       },
       std::to_string(taken) + " is in use"},
      {"port of a reuseport server", [&](ServerOptions& o) { o.port = shared; },
       std::to_string(shared) + " is in use"},
      {"port of a reuseport server, acceptor",
       [&](ServerOptions& o) {
         o.port = shared;
         o.scheme = ServerScheme::acceptor;
       },
       std::to_string(shared) + " is in use"},
      {"engine of another scheme", [](ServerOptions& o) { o.io = IoEngine::blocking; },
       "reuseport does not run on blocking"},
      {"engine of another scheme, thread-pool",
       [](ServerOptions& o) {
         o.scheme = ServerScheme::thread_pool;
         o.io = IoEngine::epoll;
       },
       "thread-pool does not run on epoll"},
      {"limit", [](ServerOptions& o) { o.limits.head_ms_max = 0; },
       "head_ms_max is 0: it must lie between 1"},
      {"host", [](ServerOptions& o) { o.host = "no such host"; }, "no such host"},
      {"foreign address", [](ServerOptions& o) { o.host = "192.0.2.1"; },
       "not an address of this machine"},
      {"root", [&](ServerOptions& o) { o.root = directory.path_of("gone"); },
       directory.path_of("gone")},
      {"root is a file", [&](ServerOptions& o) { o.root = directory.path_of("wrong.pem"); },
       directory.path_of("wrong.pem")},
      {"no certificate",
       [&](ServerOptions& o) {
         o.cleartext = false;
         o.certificate_file = directory.path_of("gone.crt");
         o.key_file = directory.path_of("gone.key");
       },
       directory.path_of("gone.")},
      {"a wrong certificate",
       [&](ServerOptions& o) {
         o.cleartext = false;
         o.certificate_file = o.key_file = directory.path_of("wrong.pem");
       },
       directory.path_of("wrong.pem")},
      {"clients' certificates without authorities",
       [&](ServerOptions& o) { o.client_certificates = ClientCertificates::optional; },
       "need client_ca_file"},
      {"authorities without clients' certificates",
       [&](ServerOptions& o) { o.client_ca_file = directory.path_of("wrong.pem"); },
       "no effect without client_certificates"},
      {"clients' certificates in cleartext",
       [&](ServerOptions& o) {
         o.client_ca_file = directory.path_of("wrong.pem");
         o.client_certificates = ClientCertificates::required;
       },
       "need TLS"},
  };
  for (const Row& row : rows) {
    ServerOptions options = tests::cleartext();
    row.change(options);
    Server server(options);
    const Result<void, std::string> started = server.start();
    ASSERT_FALSE(started) << row.name;
    EXPECT_NE(started.error().find(row.text), std::string::npos) << row.name << started.error();
    EXPECT_EQ(started.error().find('\n'), std::string::npos) << "one line";
    EXPECT_TRUE(server.addresses().empty());
    server.stop();  // both have no effect
    server.wait();
  }
}

TEST(Start, AFreePortIsTold) {
  for (const ServerScheme scheme : tests::schemes) {
    Server server(tests::cleartext(scheme, 2));
    EXPECT_TRUE(server.addresses().empty());
    ASSERT_TRUE(server.start());
    ASSERT_EQ(server.addresses().size(), 1U);
    EXPECT_EQ(server.addresses()[0].host, "127.0.0.1");
    EXPECT_GT(server.addresses()[0].port, 0);
    EXPECT_EQ(Client(tests::port_of(server)).get("/").status, 404);
  }
}

TEST(Start, AgainAfterItEnded) {
  for (const ServerScheme scheme : tests::schemes) {
    Server server(tests::cleartext(scheme));
    for (int round = 0; round < 3; ++round) {
      ASSERT_TRUE(server.start());
      EXPECT_EQ(server.addresses().size(), 1U);
      EXPECT_EQ(Client(tests::port_of(server)).get("/").status, 404);
      server.stop();
      server.wait();
    }
  }
}

// Descriptors run out at each step of the start: it returns an error and leaves no thread and no
// listener behind.
TEST(Start, ShortOfDescriptors) {
  for (const ServerScheme scheme : tests::schemes) {
    {
      // UBSan uses descriptors when it first sees a type, so that happens here.
      Server whole(tests::cleartext(scheme, 3));
      ASSERT_TRUE(whole.start());
    }
    bool possible = false;
    std::string error;
    rlim_t more = 0;
    for (; !possible && more < 100; ++more) {
      Server server(tests::cleartext(scheme, 3));
      const rlim_t before = tests::descriptors_in_use();
      {
        const tests::LoweredLimit limit(RLIMIT_NOFILE, before + more);
        const Result<void, std::string> started = server.start();
        possible = started.has_value();
        if (!possible) {
          error = started.error();
          EXPECT_FALSE(error.empty());
        }
      }
      if (!possible) {
        EXPECT_EQ(tests::descriptors_in_use(), before)
            << server::kind_of(scheme).name << " with " << more;
      }
    }
    EXPECT_TRUE(possible) << server::kind_of(scheme).name << ": " << error;
    EXPECT_GT(more, 4U) << server::kind_of(scheme).name
                        << " needs a listener and two pairs of sockets at least";
  }
}

}  // namespace start_test
}  // namespace h2server
