// The certificates that the programs of a Linux system trust.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "app/system/run_program.h"
#include "app/trust/trust_stores.h"
#include "base/text/text.h"
#include "net/certs/new_file.h"

namespace h2server::app {

namespace {

struct SystemStore {
  const char* systems;
  const char* folder;   // of certificates that the administrator adds
  const char* program;  // makes the bundles of the folder's files
  // What the program needs to forget a file. Debian's otherwise keeps its links and Java's copy.
  const char* removal_option;  // null: nothing
};

constexpr std::array stores{
    SystemStore{"Debian, Ubuntu, Alpine", "/usr/local/share/ca-certificates",
                "update-ca-certificates", "--fresh"},
    SystemStore{"Fedora, RHEL", "/etc/pki/ca-trust/source/anchors", "update-ca-trust", nullptr},
    SystemStore{"Arch", "/etc/ca-certificates/trust-source/anchors", "update-ca-trust", nullptr},
    SystemStore{"openSUSE", "/etc/pki/trust/anchors", "update-ca-certificates", "--fresh"},
};

enum class Change { addition, removal };

// Returns the command that makes a change of the folder known to programs.
std::vector<std::string> update_command(const SystemStore& store, const std::string& program,
                                        Change change) {
  std::vector<std::string> command{program};
  if (change == Change::removal && store.removal_option != nullptr) {
    command.emplace_back(store.removal_option);
  }
  return command;
}

const SystemStore* find_store(const std::string& root) {
  const auto found = std::ranges::find_if(stores, [&](const SystemStore& store) {
    std::error_code failure;
    return std::filesystem::is_directory(root + store.folder, failure);
  });
  return found != stores.end() ? &*found : nullptr;
}

std::string content_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void update(const SystemStore& store, Change change, TrustReport& report) {
  const std::optional<std::string> program = find_program(store.program);
  if (!program) {
    report.fail("can't find {}; install the package ca-certificates, then run this again",
                store.program);
    return;
  }
  const std::vector<std::string> command = update_command(store, *program, change);
  const std::string line = command_line(command);
  report.say("System ({}): running {}", store.systems, line);
  const Result<int, int> status = run_program(command, Output::shown);
  if (!status) {
    report.fail("can't run {}: {}; run it as root", line, std::strerror(status.error()));
  } else if (*status != 0) {
    report.fail("{} failed with status {}; repair what it says, then run it as root", line,
                *status);
  }
}

// Reports what an administrator runs for a user.
void report_commands(const SystemStore& store, std::vector<std::string> first, Change change,
                     TrustReport& report) {
  std::vector<std::string> second = update_command(store, store.program, change);
  first.insert(first.begin(), "sudo");
  second.insert(second.begin(), "sudo");
  report.fail("the system's certificates ({}) need root; run: {} && {}", store.systems,
              command_line(first), command_line(second));
}

void report_no_store(TrustReport& report) {
  report.fail("this system has none of the directories for certificates that h2server knows; "
              "install the package ca-certificates, or see h2server trust --print");
}

// Replaces the file in one step. Returns 0 or an errno value.
int store_file(const std::string& file, const std::string& content) {
  int error = net::write_unfinished(file, content, 0644);
  // Whatever root's umask is, every user's programs are to read it.
  if (error == 0 && ::chmod(net::unfinished(file).c_str(), 0644) != 0) error = errno;
  if (error == 0) error = net::publish_over(file);
  if (error != 0) ::unlink(net::unfinished(file).c_str());
  return error;
}

}  // namespace

std::string name_in_system(const std::string& name) {
  std::string plain;
  for (const char c : name) {
    const bool kept = base::is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
    if (kept) plain += c;
    else if (!plain.empty() && plain.back() != '-') plain += '-';
  }
  while (plain.ends_with('-')) plain.pop_back();
  return plain + ".crt";
}

void install_in_system(const TrustedFile& ca, const std::string& root, TrustReport& report) {
  const SystemStore* const store = find_store(root);
  if (store == nullptr) return report_no_store(report);
  const std::string target = root + store->folder + "/" + name_in_system(ca.name);
  if (::geteuid() != 0) {
    if (content_of(target) == ca.pem) {
      report.say("System ({}): {} is installed", store->systems, target);
      return;
    }
    return report_commands(*store, {"install", "-m", "0644", ca.file, target}, Change::addition,
                           report);
  }
  const int error = store_file(target, ca.pem);
  if (error != 0) {
    report.fail("can't write {}: {}; free space or make it writable, then run this again", target,
                std::strerror(error));
    return;
  }
  report.say("System ({}): wrote {}", store->systems, target);
  update(*store, Change::addition, report);
}

void remove_from_system(const TrustedFile& ca, const std::string& root, TrustReport& report) {
  const SystemStore* const store = find_store(root);
  if (store == nullptr) {
    report.say("System: no directory for certificates");
    return;
  }
  const std::string target = root + store->folder + "/" + name_in_system(ca.name);
  if (::access(target.c_str(), F_OK) != 0 && errno == ENOENT) {
    report.say("System ({}): there is no {}", store->systems, target);
    return;
  }
  if (::geteuid() != 0) {
    return report_commands(*store, {"rm", target}, Change::removal, report);
  }
  if (::unlink(target.c_str()) != 0 && errno != ENOENT) {
    report.fail("can't remove {}: {}; make its directory writable, then run this again", target,
                std::strerror(errno));
    return;
  }
  report.say("System ({}): removed {}", store->systems, target);
  update(*store, Change::removal, report);
}

}  // namespace h2server::app
