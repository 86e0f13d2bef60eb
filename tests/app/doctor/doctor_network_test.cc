#include <gtest/gtest.h>

#include <cerrno>

#include "app/doctor/doctor_checks.h"
#include "app/fake_system.h"

namespace h2server::app {
namespace doctor_network_test {

// Two sockets that listen, on port 443 of 0.0.0.0 and 8443 of 127.0.0.1, and a connection of 443.
constexpr const char* tcp_table =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n"
    "   0: 00000000:01BB 00000000:0000 0A 00000000:00000000 00:00000000 00000000    33        0 "
    "31415 1 0000000000000000 100 0 0 10 0\n"
    "   1: 0100007F:20FB 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 "
    "27182 1 0000000000000000 100 0 0 10 0\n"
    "   2: 0100007F:01BB 0100007F:C000 01 00000000:00000000 00:00000000 00000000    33        0 "
    "16180 1 0000000000000000 100 0 0 10 0\n"
    "   3: cut\n";

constexpr const char* tcp6_table =
    "  sl  local_address                         remote_address                        st\n"
    "   0: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A "
    "00000000:00000000 00:00000000 00000000     0        0 14142 1 0000000000000000 100 0 0 10 0\n";

FakeSystem& with_tables(FakeSystem& fake) {
  fake.write("proc/net/tcp", tcp_table);
  fake.write("proc/net/tcp6", tcp6_table);
  return fake;
}

TEST(DoctorNetwork, AcceptsAFreePort) {
  FakeSystem fake;
  const Finding found = check_port(fake.tree(), {.host = "", .port = 443});
  EXPECT_EQ(found.level, Level::ok);
  EXPECT_EQ(found.title, "port 443");
  EXPECT_EQ(check_port(fake.tree(), {.host = "", .port = 0}).title, "port");
}

TEST(DoctorNetwork, NamesTheProgramOnAPort) {
  FakeSystem fake;
  with_tables(fake);
  fake.write("proc/812/comm", "nginx\n");
  fake.link("proc/812/fd/0", "/dev/null");
  fake.link("proc/812/fd/6", "socket:[31415]");
  fake.write("proc/900/comm", "browser\n");
  fake.link("proc/900/fd/3", "socket:[16180]");
  fake.write("proc/901/comm", "web6\n");
  fake.link("proc/901/fd/3", "socket:[14142]");
  fake.link("proc/self/fd/3", "socket:[27182]");  // no process's number
  const Finding found = check_port(fake.tree(), {.host = "", .port = 443, .error = EADDRINUSE});
  EXPECT_EQ(found.level, Level::problem);
  EXPECT_EQ(found.finding, "in use by nginx (process 812)");
  expect_words(found.remedy, {"--port"});
  EXPECT_EQ(check_port(fake.tree(), {.host = "", .port = 80, .error = EADDRINUSE}).finding,
            "in use by web6 (process 901)");
  // Of other users' processes only the user is known.
  EXPECT_EQ(check_port(fake.tree(), {.host = "::1", .port = 8443, .error = EADDRINUSE}).finding,
            "in use on ::1 by a program of user 1000");
  EXPECT_EQ(check_port(fake.tree(), {.host = "", .port = 81, .error = EADDRINUSE}).finding,
            "in use");
  EXPECT_EQ(check_port(FakeSystem().tree(), {.host = "", .port = 443, .error = EADDRINUSE}).finding,
            "in use");
}

TEST(DoctorNetwork, ExplainsRefusedPorts) {
  FakeSystem fake;
  fake.write("proc/sys/net/ipv4/ip_unprivileged_port_start", "500\n");
  fake.link("proc/self/exe", "/opt/web/h2server");
  const Finding refused = check_port(fake.tree(), {.host = "", .port = 443, .error = EACCES});
  EXPECT_EQ(refused.level, Level::problem);
  expect_words(refused.finding, {"below 500"});
  expect_words(refused.remedy,
               {"CAP_NET_BIND_SERVICE", "cap_net_bind_service=+ep /opt/web/h2server", "8443"});
  const Finding forbidden = check_port(fake.tree(), {.host = "", .port = 500, .error = EACCES});
  EXPECT_EQ(forbidden.level, Level::problem);
  expect_words(forbidden.remedy, {"SELinux"});
  const Finding foreign =
      check_port(fake.tree(), {.host = "192.0.2.1", .port = 443, .error = EADDRNOTAVAIL});
  EXPECT_EQ(foreign.level, Level::problem);
  expect_words(foreign.finding, {"192.0.2.1"});
  expect_words(foreign.remedy, {"--host"});
  EXPECT_EQ(check_port(fake.tree(), {.host = "", .port = 443, .error = ENOBUFS}).level,
            Level::problem);
}

TEST(DoctorNetwork, ListsTheUsualPorts) {
  FakeSystem fake;
  const Finding found =
      check_usual_ports(with_tables(fake).tree(), {{.host = "", .port = 443, .error = EACCES},
                                                   {.host = "", .port = 8443, .error = EADDRINUSE},
                                                   {.host = "", .port = 8080}});
  EXPECT_EQ(found.level, Level::ok);
  EXPECT_EQ(found.finding,
            "443 needs a privilege; 8443 is in use by a program of user 1000; 8080 is free");
}

TEST(DoctorNetwork, ComparesTheQueueWithTheServers) {
  const FakeSystem fake;
  EXPECT_EQ(check_backlog(fake.tree()).level, Level::ok);
  fake.write("proc/sys/net/core/somaxconn", "4096\n");
  EXPECT_EQ(check_backlog(fake.tree()).level, Level::ok);
  fake.write("proc/sys/net/core/somaxconn", "128\n");
  const Finding small = check_backlog(fake.tree());
  EXPECT_EQ(small.level, Level::note);
  expect_words(small.finding, {"128", "4,096"});
  expect_words(small.remedy, {"net.core.somaxconn=4096"});
}

TEST(DoctorNetwork, LooksForIpv6) {
  const FakeSystem fake;
  const Finding absent = check_ipv6(fake.tree());
  EXPECT_EQ(absent.level, Level::note);
  expect_words(absent.remedy, {"ipv6.disable"});
  fake.write("proc/net/if_inet6", "00000000000000000000000000000001 01 80 10 80       lo\n"
                                  "fe800000000000000000000000000001 02 40 20 80     eth0\n");
  const Finding local = check_ipv6(fake.tree());
  EXPECT_EQ(local.level, Level::ok);
  expect_words(local.finding, {"no address is public"});
  fake.write("proc/net/if_inet6", "20010db8000000000000000000000001 02 40 00 80     eth0\n");
  EXPECT_EQ(check_ipv6(fake.tree()).finding, "available, beside IPv4");
  fake.write("proc/sys/net/ipv6/conf/all/disable_ipv6", "1\n");
  const Finding off = check_ipv6(fake.tree());
  EXPECT_EQ(off.level, Level::note);
  expect_words(off.remedy, {"disable_ipv6=0"});
}

}  // namespace doctor_network_test
}  // namespace h2server::app
