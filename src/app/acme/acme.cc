#include "app/acme/acme.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "app/acme/acme_backoff.h"
#include "app/acme/acme_jose.h"
#include "app/acme/acme_schedule.h"
#include "app/system/start_thread.h"
#include "base/assert.h"
#include "base/log.h"
#include "base/random.h"

namespace h2server::app {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The wall clock may be set while the thread waits.
constexpr seconds wait_max = std::chrono::minutes(10);

double random_part() {
  constexpr double numbers = 9007199254740992.0;  // 2^53, which a double holds exactly
  return static_cast<double>(base::random_number() >> 11) / numbers;
}

const char* challenge_name(AcmeChallenges::Kind kind) {
  return kind == AcmeChallenges::Kind::http ? "http-01" : "tls-alpn-01";
}

std::string shown(std::int64_t time_s) {
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(time_s)));
}

std::string certificate_name(const std::optional<IssuedCertificate>& issued) {
  return issued && issued->id ? renewal_name(*issued->id) : std::string();
}

}  // namespace

Acme::Acme(AcmeOptions options, AcmeClient client, AcmeChallenges& challenges)
    : options_(std::move(options)), client_(std::move(client)), challenges_(challenges) {
  for (const AcmeSite& site : options_.sites) {
    ASSERT(!site.hosts.empty());
    plans_.push_back({.site = &site});
  }
}

Acme::~Acme() { stop(); }

void Acme::open_session(std::string key_pem) {
  session_.emplace(
      AcmeSession::Options{
          .directory = options_.directory, .email = options_.email, .key_pem = std::move(key_pem)},
      client_.transport);
}

Result<void, std::string> Acme::start() {
  if (plans_.empty()) return {};
  Result<std::string, std::string> key = open_account_key(options_.folder);
  if (!key) return std::unexpected(std::move(key.error()));
  open_session(*key);
  account_key_ = *std::move(key);
  // Sites without a certificate come first: questions about others may take long.
  for (Plan& plan : plans_) {
    plan.due_s = find_issued(plan.site->files, plan.site->hosts) ? 1 : 0;
    if (!options_.sharing.store) resume_backoff(plan, read_backoff(plan.site->files));
  }
  Result<std::thread, std::string> thread = start_thread([this] { run(); });
  if (!thread) return std::unexpected("acme: no certificates are ordered: " + thread.error());
  thread_ = *std::move(thread);
  return {};
}

void Acme::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (!thread_.joinable()) return;
  client_.give_up();
  if (options_.sharing.give_up) options_.sharing.give_up();
  thread_.join();
}

bool Acme::stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

// Returns false if the thread must end.
bool Acme::wait(milliseconds time) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, time, [this] { return stopping_; });
}

void Acme::run() {
  milliseconds pause_max = wait_max;
  if (options_.sharing.store) {
    Result<AcmeReplicas, std::string> replicas = AcmeReplicas::open(options_.sharing);
    if (!replicas) {
      base::log_error("acme: no certificates are ordered: {}", replicas.error());
      return;
    }
    replicas_.emplace(*std::move(replicas));
    pause_max = options_.sharing.challenges_pause;
  }
  for (;;) {
    if (replicas_) look_at_others();
    const auto next = std::ranges::min_element(plans_, {}, &Plan::due_s);
    const seconds left(next->due_s - options_.now_s());
    if (left > seconds(0)) {
      if (!wait(std::min<milliseconds>(left, pause_max))) return;
      continue;
    }
    if (stopping()) return;
    step(*next);
  }
}

// --- failures that outlive this -----------------------------------------------------------------

// `text`: what is kept of the failures of earlier runs, or of other servers.
void Acme::resume_backoff(Plan& plan, std::string_view text) {
  const std::int64_t now_s = options_.now_s();
  const std::optional<AcmeBackoff> backoff = parse_backoff(
      text, acme_order_name(challenge_name(options_.challenge), plan.site->hosts), now_s);
  if (!backoff) return;
  plan.failures = backoff->failures;
  if (backoff->next_s > now_s) plan.due_s = backoff->next_s;
}

std::string Acme::backoff_text(const Plan& plan, std::int64_t now_s, seconds pause) const {
  return to_text({.order = acme_order_name(challenge_name(options_.challenge), plan.site->hosts),
                  .failures = plan.failures,
                  .last_s = now_s,
                  .next_s = now_s + pause.count()});
}

// An empty text: there were none.
void Acme::keep_failures(const Plan& plan, const std::string& text) {
  const Result<void, std::string> kept =
      replicas_ ? replicas_->keep_backoff(*plan.site, text) : keep_backoff(plan.site->files, text);
  if (kept) return;
  if (replicas_) note(kept.error());
  else base::log_warning("{}", kept.error());
}

// --- what is done when --------------------------------------------------------------------------

void Acme::step(Plan& plan) {
  const auto issued = find_issued(plan.site->files, plan.site->hosts);
  if (certificate_name(issued) != plan.certificate) {
    const bool by_another = !plan.certificate.empty();  // process: it has the same state directory
    plan = {.site = plan.site,
            .certificate = certificate_name(issued),
            .obtained_s = plan.obtained_s,
            .failures = plan.failures};
    if (by_another) options_.changed();
  }
  if (issued) look_again(plan, *issued);
  if (!issued || plan.renewal_s <= options_.now_s()) renew(plan, issued);
}

// Settles when to renew, and when to ask about that again.
void Acme::look_again(Plan& plan, const IssuedCertificate& issued) {
  if (plan.renewal_s == 0) {
    plan.renewal_s = usual_renewal_s(issued.begin_s, issued.end_s, random_part());
  }
  const std::int64_t asked_s = options_.now_s();
  const seconds pause = advice_pause(take_advice(plan, issued));
  plan.renewal_s = bounded_renewal_s(plan.renewal_s, issued, plan.obtained_s);
  plan.due_s = std::min(plan.renewal_s, asked_s + pause.count());
}

// Returns what the authority says about the next question.
std::optional<seconds> Acme::take_advice(Plan& plan, const IssuedCertificate& issued) {
  if (!issued.id) return std::nullopt;
  const auto advice = session_->renewal_advice(*issued.id);
  if (!advice) {
    session_->forget();
    if (!stopping()) {
      base::log_warning("acme: can't ask when to renew the certificate of {}: {}",
                        plan.site->hosts.front(), advice.error().reason);
    }
    return advice.error().retry_after;
  }
  if (!*advice) return std::nullopt;
  const RenewalWindow& window = (*advice)->window;
  if (plan.window != window) {
    plan.renewal_s = renewal_in(window, random_part());
    if (plan.window && !window.explanation_url.empty()) {
      base::log_info("acme: the certificate of {} is to be renewed about {}: {}",
                     plan.site->hosts.front(), shown(plan.renewal_s), window.explanation_url);
    }
    plan.window = window;
  }
  return (*advice)->retry_after;
}

void Acme::renew(Plan& plan, const std::optional<IssuedCertificate>& issued) {
  if (replicas_) {
    const Result<bool, std::string> begun = begin_turn(plan);
    if (!begun) put_off(plan, issued, {begun.error()});
    if (!begun || !*begun) return;
  }
  const Result<void, AcmeFailure> obtained = order(plan, issued);
  if (replicas_) {
    // If the store does not take the new pair now, it does at another exchange.
    if (obtained) static_cast<void>(exchange(plan));
    replicas_->end_turn();
  }
  if (!obtained) return;
  const auto now = find_issued(plan.site->files, plan.site->hosts);
  if (!now) {
    put_off(plan, issued, {"the files of its certificate were changed"});
    return;
  }
  base::log_info("acme: {} has a new certificate, valid until {}",
                 fmt::join(plan.site->hosts, ", "), shown(now->end_s));
  // The next step looks at it, and asks when to renew it.
  const std::int64_t now_s = options_.now_s();
  plan = {.site = plan.site, .due_s = now_s, .obtained_s = now_s};
  options_.changed();
}

// An order that is noted as failed until its outcome is known.
Result<void, AcmeFailure> Acme::order(Plan& plan, const std::optional<IssuedCertificate>& issued) {
  const std::string before = replicas_ ? std::string() : read_backoff(plan.site->files);
  ++plan.failures;
  const std::int64_t begun_s = options_.now_s();
  keep_failures(plan, backoff_text(plan, begun_s, retry_pause(plan.failures, 0, std::nullopt)));
  --plan.failures;
  Result<void, AcmeFailure> obtained = obtain(*plan.site, certificate_name(issued));
  if (obtained) {
    keep_failures(plan, {});
    return obtained;
  }
  const seconds pause = put_off(plan, issued, obtained.error());
  // One that this program has given up has not failed. What the store has of it ends with its
  // pause.
  const bool given_up = stopping();
  if (given_up && !replicas_) keep_failures(plan, before);
  if (!given_up) keep_failures(plan, backoff_text(plan, options_.now_s(), pause));
  return obtained;
}

Result<void, AcmeFailure> Acme::obtain(const AcmeSite& site, const std::string& replaces) {
  const net::SigningKey key = net::SigningKey::make();  // RFC 8555, 11.1: not the account's
  const Result<std::string, AcmeFailure> chain =
      order_certificate(*session_,
                        {.hosts = site.hosts,
                         .challenge = challenge_name(options_.challenge),
                         .csr = net::make_certificate_request(key, site.hosts),
                         .replaces = replaces},
                        hooks());
  if (!chain) return std::unexpected(chain.error());
  const Result<void, std::string> good =
      net::check_issued(*chain, key, site.hosts, options_.now_s());
  if (!good) {
    return std::unexpected(
        AcmeFailure{"the certificate of the authority is of no use: " + good.error()});
  }
  const Result<void, std::string> kept = keep_issued(site.files, *chain, key.pem());
  if (!kept) return std::unexpected(AcmeFailure{kept.error()});
  return {};
}

AcmeOrderHooks Acme::hooks() {
  const AcmeChallenges::Kind kind = options_.challenge;
  return {.provide =
              [this, kind](const std::string& host, const std::string& token,
                           const std::string& key_authorization) {
                challenges_.provide(kind, host, token, key_authorization);
                if (replicas_) replicas_->provide(host, token, key_authorization);
              },
          .withdraw = [this, kind](
                          const std::string& host,
                          const std::string& token) { challenges_.withdraw(kind, host, token); },
          .settle = [this] { return settle(); },
          .wait = [this](milliseconds time) { return wait_in_turn(time); }};
}

// Returns the pause.
seconds Acme::put_off(Plan& plan, const std::optional<IssuedCertificate>& issued,
                      const AcmeFailure& failure) {
  session_->forget();
  ++plan.failures;
  const seconds pause = retry_pause(plan.failures, random_part(), failure.retry_after);
  plan.due_s = options_.now_s() + pause.count();
  if (stopping()) return pause;
  base::log_error(
      "acme: no certificate for {}: {}; next try {}{}", fmt::join(plan.site->hosts, ", "),
      failure.reason, shown(plan.due_s),
      issued ? fmt::format("; the present one is valid until {}", shown(issued->end_s)) : "");
  return pause;
}

// --- several servers -----------------------------------------------------------------------------

void Acme::look_at_others() {
  const Result<void, std::string> looked = replicas_->look(challenges_, options_.challenge);
  note(looked ? std::string() : looked.error());
  const auto now = std::chrono::steady_clock::now();
  if (!looked || now < exchange_due_) return;
  exchange_due_ = now + options_.sharing.pairs_pause;
  for (Plan& plan : plans_) {
    if (!stopping()) static_cast<void>(exchange(plan));
  }
}

// Returns true if the site has a new pair; the next step looks at it.
Result<bool, std::string> Acme::exchange(Plan& plan) {
  Result<bool, std::string> changed = replicas_->exchange(*plan.site, options_.now_s());
  note(changed ? std::string() : changed.error());
  if (!changed || !*changed) return changed;
  const std::int64_t now_s = options_.now_s();
  plan = {.site = plan.site, .due_s = now_s, .obtained_s = now_s};
  base::log_info("acme: {} has the certificate that another server got",
                 fmt::join(plan.site->hosts, ", "));
  options_.changed();
  return changed;
}

// Returns false if no order is to be made now.
Result<bool, std::string> Acme::begin_turn(Plan& plan) {
  Result<bool, std::string> begun = replicas_->begin_turn();
  if (!begun) return begun;
  if (!*begun) {
    constexpr std::int64_t others_turn_s = 10;
    plan.due_s = options_.now_s() + others_turn_s;
    return false;
  }
  begun = may_order(plan);
  if (!begun || !*begun) replicas_->end_turn();
  return begun;
}

// In its turn. Returns false if another server has got the certificate, or has failed so lately
// that it is too early for the next try.
Result<bool, std::string> Acme::may_order(Plan& plan) {
  const Result<bool, std::string> changed = exchange(plan);
  if (!changed) return changed;
  if (*changed) return false;
  const Result<std::string, std::string> kept = replicas_->read_backoff(*plan.site);
  if (!kept) return std::unexpected(kept.error());
  resume_backoff(plan, *kept);
  if (plan.due_s > options_.now_s()) return false;
  Result<void, std::string> settled = settle_account();
  if (!settled) return std::unexpected(std::move(settled.error()));
  return true;
}

Result<void, std::string> Acme::settle_account() {
  if (account_key_.empty()) return {};
  Result<std::string, std::string> key = replicas_->share_account_key(account_key_);
  if (!key) return std::unexpected(std::move(key.error()));
  if (*key != account_key_) open_session(*std::move(key));
  account_key_.clear();
  return {};
}

// Others have looked twice by then.
Result<void, std::string> Acme::settle() {
  if (!replicas_) return {};
  Result<void, std::string> published = replicas_->publish();
  if (published && !wait_in_turn(2 * options_.sharing.challenges_pause)) {
    return std::unexpected("the server stops");
  }
  return published;
}

// Returns false if the thread must end.
bool Acme::wait_in_turn(milliseconds time) {
  constexpr milliseconds step(5'000);
  while (replicas_ && time > step) {
    if (!wait(step)) return false;
    replicas_->keep_turn();
    time -= step;
  }
  return wait(time);
}

// Logs when the store fails, and when it works again. Empty: it works.
void Acme::note(const std::string& failure) {
  if (stopping() || failure.empty() == store_failure_.empty()) return;
  if (failure.empty()) {
    base::log_info("acme-store works again");
  } else {
    base::log_error("acme: no certificates are shared for now: {}", failure);
  }
  store_failure_ = failure;
}

}  // namespace h2server::app
