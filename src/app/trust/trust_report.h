// What `h2server trust` says: a line per step on standard output, failures on standard error.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

#include "base/log.h"

namespace h2server::app {

class TrustReport {
 public:
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    const std::string line = fmt::format(format, std::forward<Args>(args)...) + "\n";
    std::fputs(line.c_str(), stdout);
    std::fflush(stdout);  // the programs that are run write, too
  }
  // The line says why and what to do.
  template <class... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    base::log_error(format, std::forward<Args>(args)...);
    failed_ = true;
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  bool failed_ = false;
};

}  // namespace h2server::app
