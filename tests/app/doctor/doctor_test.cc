#include "app/doctor/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "app/fake_system.h"

namespace h2server::app {
namespace doctor_test {

std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto columns = std::ranges::count_if(
        line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
    most = std::max(most, static_cast<std::size_t>(columns));
  }
  return most;
}

std::string words(std::size_t count) {
  std::string text = "wörd";
  for (std::size_t i = 1; i < count; ++i) text += " wörd";
  return text;
}

TEST(DoctorScreen, AlignsAndCounts) {
  const std::string screen = doctor_screen({{Level::ok, "kernel", "works", ""},
                                            {Level::note, "io", "does not", "turn it on"},
                                            {Level::problem, "port 443", "in use", "stop it"}},
                                           {});
  const std::string table = screen.substr(screen.find("\n\n") + 2);
  EXPECT_EQ(table, "  ok       kernel    works\n"
                   "  note     io        does not\n"
                   "                     → turn it on\n"
                   "  problem  port 443  in use\n"
                   "                     → stop it\n"
                   "\n"
                   "  1 problem, 1 note.\n");
}

TEST(DoctorScreen, SaysThatAllIsWell) {
  const std::string screen = doctor_screen({{Level::ok, "a", "b", ""}}, {});
  expect_words(screen, {"No problem: the server can start.\n"});
  expect_words(doctor_screen({{Level::note, "a", "b", ""}, {Level::note, "c", "d", ""}}, {}),
               {"No problem, 2 notes: the server can start.\n"});
}

TEST(DoctorScreen, WrapsAtTheWidth) {
  const std::vector<Finding> long_ones{{Level::note, "kernel", words(60), words(50)}};
  for (const unsigned columns : {60U, 77U, 100U}) {
    const std::string screen = doctor_screen(long_ones, {.columns = columns});
    EXPECT_LE(widest(screen), columns);
    EXPECT_GT(widest(screen), columns - 7) << screen;
    std::istringstream in(screen);
    std::size_t count = 0;
    for (std::string word; in >> word;) count += word == "wörd" ? 1 : 0;
    EXPECT_EQ(count, 110U);
  }
  // A path is not broken, so that it can be copied.
  const std::string path(200, 'x');
  expect_words(doctor_screen({{Level::ok, "root", "see " + path + " now", ""}}, {}),
               {path.c_str()});
}

TEST(DoctorScreen, ColoursTheMarksOnly) {
  const std::vector<Finding> findings{{Level::ok, "a", "b", "c"}, {Level::problem, "d", "e", ""}};
  EXPECT_EQ(doctor_screen(findings, {}).find('\x1b'), std::string::npos);
  std::string coloured = doctor_screen(findings, {.colour = true});
  expect_words(coloured, {"\x1b[32mok       \x1b[0ma  b\n"});
  for (std::size_t at = 0; (at = coloured.find('\x1b')) != std::string::npos;) {
    coloured.erase(at, coloured.find('m', at) + 1 - at);
  }
  EXPECT_EQ(coloured, doctor_screen(findings, {}));
}

TEST(DoctorScreen, DoesNotControlTheTerminal) {
  const std::string screen = doctor_screen(
      {{Level::ok, "a\tb", "esc\x1b[2J del\x7f c1\xc2\x9b raw\x9b\n end", "\x1b]0;x\x07 ü"}}, {});
  EXPECT_EQ(screen.find_first_of("\x1b\x7f\x07\t"), std::string::npos);
  EXPECT_EQ(screen.find('\x9b'), std::string::npos);
  expect_words(screen,
               {"a%09b", "esc%1B[2J", "del%7F", "c1%C2%9B", "raw%9B%0A", " end", "%1B]0;x%07 ü"});
}

TEST(Doctor, DiagnosesThisMachine) {
  const FakeSystem fake;
  DoctorInput input{.root = fake.path("proc"),
                    .upload_directory = "",
                    .certificate_file = fake.path("missing"),
                    .key_file = fake.path("missing"),
                    .cleartext = true,
                    .port = 0};
  const auto has = [&](const char* title) {
    return std::ranges::count(diagnose(input), title, &Finding::title);
  };
  for (const Finding& finding : diagnose(input)) {
    EXPECT_FALSE(finding.title.empty());
    EXPECT_FALSE(finding.finding.empty()) << finding.title;
    EXPECT_FALSE(finding.finding.ends_with('.')) << finding.finding;
  }
  for (const char* const title : {"kernel", "io_uring", "clock", "root", "descriptors", "port"}) {
    EXPECT_EQ(has(title), 1) << title;
  }
  EXPECT_EQ(has("certificate"), 0);
  EXPECT_EQ(has("uploads"), 0);
  input.cleartext = false;
  input.upload_directory = fake.path("sys");
  input.scheme = ServerScheme::thread_pool;
  for (const char* const title : {"certificate", "private key", "uploads", "kernel TLS"}) {
    EXPECT_EQ(has(title), 1) << title;
  }
  EXPECT_EQ(has("io_uring"), 0);  // a pool uses blocking calls
}

}  // namespace doctor_test
}  // namespace h2server::app
