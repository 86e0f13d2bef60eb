// CurrentTls: the TlsContext of connections that are accepted from now on. Thread-safe.
//
// A connection holds the one that it began with, so an old one is freed when its last connection
// ends. get() is for each accepted connection, beside which a lock that is held for a copy costs
// nothing.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "net/tls/tls_context.h"

namespace h2server::net {

class CurrentTls {
 public:
  // Returns null if no listener has TLS.
  [[nodiscard]] std::shared_ptr<const TlsContext> get() const {
    const std::lock_guard lock(mutex_);
    return context_;
  }
  void set(std::shared_ptr<const TlsContext> context) {
    const std::lock_guard lock(mutex_);
    context_.swap(context);
  }  // the old one is freed without the lock, since parameters outlive local variables

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const TlsContext> context_;
};

}  // namespace h2server::net
