#include "server/scheme.h"

#include "server/schemes/acceptor_scheme.h"
#include "server/schemes/reuseport_scheme.h"

namespace h2server::server {

namespace {

struct SchemeKind {
  std::string_view name;
  std::unique_ptr<Scheme> (*make)(const SharedContext& shared, const SchemeOptions& options);
};

template <class T>
std::unique_ptr<Scheme> make(const SharedContext& shared, const SchemeOptions& options) {
  return std::make_unique<T>(shared, options);
}

constexpr SchemeKind kinds[] = {
    {"acceptor", make<AcceptorScheme>},
    {"reuseport", make<ReuseportScheme>},
};

}  // namespace

std::unique_ptr<Scheme> make_scheme(std::string_view name, const SharedContext& shared,
                                    const SchemeOptions& options) {
  for (const SchemeKind& kind : kinds) {
    if (kind.name == name) return kind.make(shared, options);
  }
  return nullptr;
}

}  // namespace h2server::server
