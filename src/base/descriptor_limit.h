// How many descriptors, and so connections, this process may have.
#pragma once

namespace h2server::base {

// As many as the system grants it: the soft limit, often 1024, becomes the hard one.
void raise_descriptor_limit() noexcept;

}  // namespace h2server::base
