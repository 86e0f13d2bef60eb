// Traces: gives sampled requests a span and sends the spans to a collector.
//
// A request is sampled if its caller has sampled it (traceparent, W3C Trace Context), or by chance.
#pragma once

#include <memory>

#include "config/configuration.h"
#include "h2server/access_record.h"
#include "h2server/middleware.h"

namespace h2server::app {

class TraceSender;

class Traces {
 public:
  explicit Traces(const config::TraceSettings& settings, bool queries);
  Traces(const Traces&) = delete;
  Traces& operator=(const Traces&) = delete;
  ~Traces();

  // Decides which requests are sampled; for all of them. Lives no longer than this.
  [[nodiscard]] Middleware sampling() const;
  // Sends the spans of those; for ServerOptions::exchange_hook. Lives no longer than this.
  [[nodiscard]] ExchangeHook hook();

  void start();
  void stop() noexcept;

 private:
  const double sample_;
  const bool queries_;
  const std::unique_ptr<TraceSender> sender_;
};

}  // namespace h2server::app
