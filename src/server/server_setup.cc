// What is done with a Server beside running it: routes, middleware, and work handed to workers.
#include <exception>
#include <stdexcept>
#include <utility>

#include "base/log.h"
#include "base/text/text.h"
#include "http/answer.h"
#include "server/server_state.h"
#include "server/worker_services.h"

namespace h2server {

namespace {

// A function for a worker's thread; owns itself once it is posted.
class PostedFunction final : public coro::Delivery {
 public:
  explicit PostedFunction(std::function<void()> function) : function_(std::move(function)) {}

  void arrive() noexcept override {
    const std::unique_ptr<PostedFunction> self(this);
    try {
      function_();
    } catch (...) {
      base::log_error("a posted function failed: {}", http::text_of(std::current_exception()));
    }
  }
  void drop() noexcept override { const std::unique_ptr<PostedFunction> self(this); }

 private:
  const std::function<void()> function_;
};

// A task for a worker's thread; owns itself once it is posted.
class SpawnedTask final : public coro::Delivery {
 public:
  explicit SpawnedTask(Task<void> task) : task_(std::move(task)) {}
  Task<void> take() { return std::move(task_); }

  void arrive() noexcept override {
    const std::unique_ptr<SpawnedTask> self(this);
    server::WorkerServices::of_this_thread()->spawn(std::move(task_));
  }
  void drop() noexcept override { const std::unique_ptr<SpawnedTask> self(this); }

 private:
  Task<void> task_;
};

// Leaves `posted` with the caller if the worker has ended.
template <class Posted>
bool hand_over(io::Mailbox& mailbox, std::unique_ptr<Posted>& posted) {
  if (!mailbox.post(*posted)) return false;
  static_cast<void>(posted.release());
  return true;
}

// Throws std::invalid_argument for rules that make no sense.
http::PathRewrites rewrites_of(const std::vector<Rewrite>& rules) {
  auto made = http::PathRewrites::make(rules);
  if (!made) throw std::invalid_argument("a rewrite makes no sense: " + made.error());
  return *std::move(made);
}

}  // namespace

// --- routes -----------------------------------------------------------------------------------

Routes::Routes(RouteSink& sink, std::string host, MiddlewareChainRef chain)
    : sink_(&sink), host_(std::move(host)), chain_(std::move(chain)) {}

Routes Routes::with(Middleware middleware) const {
  Routes more = *this;
  more.use(std::move(middleware));
  return more;
}

Routes Routes::group(std::string_view prefix) const {
  if (!prefix.starts_with('/') || prefix.ends_with('/'))
    throw std::invalid_argument("a prefix begins with '/' and does not end with it: " +
                                std::string(prefix));
  Routes more = *this;
  more.prefix_ += prefix;
  return more;
}

Routes& Routes::use(Middleware middleware) {
  if (middleware.empty()) throw std::invalid_argument("the middleware has no function");
  // Routes that were added before keep the chain that they have.
  auto longer = chain_ != nullptr ? std::make_shared<MiddlewareChain>(*chain_)
                                  : std::make_shared<MiddlewareChain>();
  longer->push_back(std::move(middleware));
  chain_ = std::move(longer);
  return *this;
}

Routes& Routes::route(std::initializer_list<Method> methods, std::string_view pattern,
                      const Handler& handler) {
  for (const Method method : methods) {
    sink_->add_route(host_, method, prefix_ + std::string(pattern), handler, chain_);
  }
  return *this;
}

// Workers read all this without a lock.
void Server::State::check_not_running() const {
  check_usable();
  if (scheme != nullptr) throw std::logic_error("a Server is set up before it runs");
}

http::Composition& Server::State::composition() {
  check_not_running();
  if (shared->composition == nullptr) shared->composition = std::make_unique<http::Composition>();
  return *shared->composition;
}

void Server::State::add_route(const std::string& host, Method method, std::string_view pattern,
                              const Handler& handler, const MiddlewareChainRef& chain) {
  check_not_running();
  if (handler.empty()) throw std::invalid_argument("the handler has no function");
  http::Router* router = &shared->router;
  if (!host.empty()) router = &host_routes({&host, 1}).router;
  const Result<void, std::string> added = router->add(method, pattern, handler, chain);
  if (!added) throw std::invalid_argument(added.error());
}

Routes& Server::routes() noexcept { return state_->routes; }

// Throws std::invalid_argument for names of different hosts.
http::HostRoutes& Server::State::host_routes(std::span<const std::string> names) {
  http::HostRoutes* const host = composition().hosts.add(names);
  if (host == nullptr) throw std::invalid_argument("names of different hosts: " + names.front());
  return *host;
}

Routes Server::host(std::string_view name) { return hosts({std::string(name)}); }

Routes Server::hosts(const std::vector<std::string>& names) {
  if (names.empty()) throw std::invalid_argument("a host without a name");
  for (const std::string& name : names) {
    const std::string_view fixed = std::string_view(name).substr(name.starts_with("*.") ? 2 : 0);
    if (fixed.empty() || fixed.find_first_of("/ *") != fixed.npos || fixed.starts_with('.')) {
      throw std::invalid_argument("not a host: " + name);
    }
  }
  state_->host_routes(names);
  return Routes(*state_, names.front(), state_->shared->composition->chain);
}

void Server::rewrite(const std::vector<Rewrite>& rules) {
  state_->composition().rewrites = rewrites_of(rules);
}

void Server::rewrite(std::string_view host, const std::vector<Rewrite>& rules) {
  const std::string name(host);
  state_->host_routes({&name, 1}).rewrites = rewrites_of(rules);
}

void Server::use(Middleware middleware) {
  http::Composition& composition = state_->composition();
  state_->routes.use(std::move(middleware));
  composition.chain = state_->routes.chain();
}

void Server::set_error_handler(ErrorHandler handler) {
  state_->composition().error_handler = std::move(handler);
}

void Server::set_failure_hook(FailureHook hook) {
  state_->composition().failure_hook = std::move(hook);
}

// --- work for workers -------------------------------------------------------------------------

io::Mailbox& Server::State::next_mailbox() noexcept {
  return *mailboxes[next_worker++ % mailboxes.size()];
}

void Server::State::start_early_tasks() {
  for (Task<void>& task : early_tasks) {
    auto posted = std::make_unique<SpawnedTask>(std::move(task));
    hand_over(next_mailbox(), posted);
  }
  early_tasks.clear();
}

// What is posted is destroyed without the lock if nobody takes it: it may use the server.

bool Server::spawn(Task<void> task) {
  if (server::kind_of(state_->options.scheme).blocking) return false;
  auto posted = std::make_unique<SpawnedTask>(std::move(task));
  const std::lock_guard lock(state_->mutex);
  if (state_->shared == nullptr) return false;
  if (state_->scheme != nullptr) return hand_over(state_->next_mailbox(), posted);
  state_->early_tasks.push_back(posted->take());
  return true;
}

bool Server::post(unsigned worker, std::function<void()> function) {
  auto posted = std::make_unique<PostedFunction>(std::move(function));
  const std::lock_guard lock(state_->mutex);
  if (worker >= state_->mailboxes.size()) return false;
  return hand_over(*state_->mailboxes[worker], posted);
}

unsigned Server::workers() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return static_cast<unsigned>(state_->mailboxes.size());
}

}  // namespace h2server
