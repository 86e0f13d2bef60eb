// Calls on sockets that do not wait, shared by the engines. Each returns a count or a negative
// errno value; -EAGAIN if it would have to wait.
#pragma once

#include "io/op.h"

namespace h2server::io {

// Receives into a buffer of the engine, which the operation's lease then holds; without any byte
// the lease stays empty. 0: the end of the stream. Other errors mean that the connection is gone
// (ECONNRESET, ETIMEDOUT, EHOSTUNREACH...).
[[nodiscard]] int receive_now(Engine& engine, ReceiveOp& op);
// Sends the operation's pieces, or its part of a file. EPIPE and ECONNRESET: the peer left. EFAULT:
// a mapped file shrank under the bytes.
[[nodiscard]] int send_now(SendOp& op) noexcept;

// Returns the number of bytes sent, at least one, or a negative errno value. -EAGAIN: the socket is
// full. -EOPNOTSUPP: not possible with this file. -ENODATA: the file has no bytes there any more.
// Leaves the socket in blocking mode. Raises no signal.
[[nodiscard]] int send_file(int socket, const base::FileRange& part) noexcept;

}  // namespace h2server::io
