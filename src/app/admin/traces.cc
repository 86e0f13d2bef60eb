#include "app/admin/traces.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "app/admin/trace_sender.h"
#include "h2server/trace.h"
#include "observe/otlp.h"

namespace h2server::app {

namespace {

// Attached to requests that are sampled.
struct Sampled {
  TraceContext context;      // of this request: its parent id is the span's
  observe::SpanId caller{};  // all zero: this request began the trace
};

// Chances need no secrecy: xorshift64* (Vigna, 2016), seeded by the kernel, one for each thread.
std::uint64_t next_random() noexcept {
  thread_local std::uint64_t state = random_id() | 1;
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1dULL;
}

bool happens(double chance) noexcept {
  if (chance >= 1) return true;
  return static_cast<double>(next_random() >> 11) < std::ldexp(chance, 53);
}

TraceSenderOptions sender_options(const config::TraceSettings& settings) {
  return {.endpoint = settings.endpoint,
          .resource = {{"service.name", "h2server"}, {"service.version", H2SERVER_VERSION}}};
}

}  // namespace

Traces::Traces(const config::TraceSettings& settings, bool queries)
    : sample_(settings.sample),
      queries_(queries),
      sender_(std::make_unique<TraceSender>(sender_options(settings))) {}

Traces::~Traces() = default;

void Traces::start() { sender_->start(); }
void Traces::stop() noexcept { sender_->stop(); }

Middleware Traces::sampling() const {
  return [sample = sample_](Request& request) -> std::optional<Response> {
    std::optional<TraceContext> caller;
    if (request.field("traceparent")) caller = trace_of(request);
    if (caller ? !caller->sampled() && !happens(sample) : !happens(sample)) return std::nullopt;
    const TraceContext begun =
        caller ? *caller : TraceContext::start(true, {next_random(), next_random()}, next_random());
    const TraceContext own = caller ? begun.child(next_random()) : begun;
    request.attach(
        Sampled{.context = own,
                .caller = caller ? observe::span_id_of(begun.parent_id()) : observe::SpanId()});
    request.attach(own);  // the access log names the trace
    return std::nullopt;
  };
}

ExchangeHook Traces::hook() {
  return [this](const Request* request, const AccessRecord& record) {
    const Sampled* const sampled = request != nullptr ? request->attached<Sampled>() : nullptr;
    if (sampled == nullptr) return;
    observe::Span span;
    observe::describe(span, record, queries_);
    span.trace_id = observe::trace_id_of(sampled->context.trace_id());
    span.span_id = observe::span_id_of(sampled->context.parent_id());
    span.parent_span_id = sampled->caller;
    span.trace_state = sampled->context.state();
    sender_->offer(std::move(span));
  };
}

}  // namespace h2server::app
