// The hooks of all sites: one for each target, which sites share.
//
// For the main thread. Must outlive the server's workers.
#pragma once

#include <map>
#include <string>

#include "app/uploads/upload_hook.h"
#include "content/uploads/area/upload_event.h"
#include "h2server/result.h"

namespace h2server::app {

class UploadHooks {
 public:
  // Returns what reports to that target; an empty function for an empty one. Before start().
  content::UploadSink sink_of(const std::string& target) {
    if (target.empty()) return {};
    return hooks_.try_emplace(target, UploadHookOptions{.target = target}).first->second.sink();
  }

  // The error is a line for the operator.
  Result<void, std::string> start() {
    for (auto& [target, hook] : hooks_) {
      Result<void, std::string> started = hook.start();
      if (!started) return started;
    }
    return {};
  }
  void stop() noexcept {
    for (auto& [target, hook] : hooks_) hook.stop();
  }

 private:
  std::map<std::string, UploadHook> hooks_;
};

}  // namespace h2server::app
