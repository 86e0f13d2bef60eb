// Relations: combinations of options that are refused, because one of them has no effect or makes
// another unsafe.
#pragma once

#include <string_view>

#include "config/configuration.h"
#include "config/settings.h"

namespace h2server::config {

// What is given for a site, a listener or the program: its own, or that of the top.
class Given {
 public:
  // Both live longer than this object. `own` may be null.
  Given(Scope scope, const Assignments& top, const Assignments* own = nullptr) noexcept
      : scope_(scope), top_(top), own_(own) {}

  // Returns null for an option that is not given.
  [[nodiscard]] const Assignment* find(const Option& option) const noexcept;
  // Also returns null for a flag that is given as false.
  [[nodiscard]] const Assignment* find(std::string_view key) const noexcept;

 private:
  Scope scope_;
  const Assignments& top_;
  const Assignments* own_;
};

// On schemes, logs, the admin listener and traces.
void check_program(const Given& given, const Configuration& configuration, Problems& problems);
// On certificates, uploads and passwords. Looks at the listeners, not at the other sites.
void check_site(const Given& given, const Configuration& configuration, Problems& problems);

}  // namespace h2server::config
