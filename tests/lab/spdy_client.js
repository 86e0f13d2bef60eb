// A client for SPDY/3.1 on npm's spdy-transport.
//
//   node spdy_client.js PORT cleartext|tls REQUESTS
//
// REQUESTS is JSON: [{"method", "path", "body_bytes"}]. All are sent at once on one connection. Prints
// a line of JSON for each: {"path", "status", "headers", "bytes", "sha256", "sent_sha256"}.
'use strict';

const crypto = require('crypto');
const net = require('net');
const tls = require('tls');
const transport = require('spdy-transport');

const [port, kind, list] = process.argv.slice(2);
const requests = JSON.parse(list);
let left = requests.length;

function sha256(bytes) {
  return crypto.createHash('sha256').update(bytes).digest('hex');
}

function fail(error) {
  console.error(error);
  process.exit(1);
}

function ask(connection, request) {
  const body = crypto.randomBytes(request.body_bytes || 0);
  const head = {method: request.method, path: request.path, host: `localhost:${port}`,
                headers: {'user-agent': 'spdy-transport'}};
  connection.request(head, (error, stream) => {
    if (error) fail(error);
    const parts = [];
    let response = {};
    stream.on('error', fail);
    stream.on('response', (status, headers) => { response = {status, headers}; });
    stream.on('data', (part) => parts.push(part));
    stream.on('end', () => {
      const bytes = Buffer.concat(parts);
      console.log(JSON.stringify({path: request.path, ...response, bytes: bytes.length,
                                  sha256: sha256(bytes), sent_sha256: sha256(body)}));
      if (--left === 0) process.exit(0);
    });
    stream.end(body);
  });
}

function begin() {
  if (kind === 'tls' && socket.alpnProtocol !== 'spdy/3.1') fail(`ALPN: ${socket.alpnProtocol}`);
  const connection = transport.connection.create(socket, {protocol: 'spdy', isServer: false});
  connection.on('error', fail);
  connection.start(3.1);
  for (const request of requests) ask(connection, request);
}

const socket = kind === 'tls'
  ? tls.connect({port, host: '127.0.0.1', ALPNProtocols: ['spdy/3.1'], rejectUnauthorized: false},
                begin)
  : net.connect(port, '127.0.0.1', begin);
socket.on('error', fail);
setTimeout(() => fail('no answer'), 30000);
