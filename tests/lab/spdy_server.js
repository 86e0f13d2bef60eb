// A server for SPDY/3.1: npm's spdy over TLS. In cleartext it would take SPDY/3 for the version, which
// has no window of the connection, so there npm's spdy-transport stands alone.
//
//   node spdy_server.js ROOT [CERTIFICATE KEY]
//
// Serves the files of a directory and answers POST with its body. Prints its port.
'use strict';

const fs = require('fs');
const net = require('net');
const path = require('path');
const spdy = require('spdy');
const transport = require('spdy-transport');

const [root, certificate, key] = process.argv.slice(2);

function file_of(target) {
  const name = path.join(root, path.basename(target));
  return fs.existsSync(name) ? fs.readFileSync(name) : null;
}

function answer(request, response) {
  if (request.spdyVersion !== 3.1) throw new Error(`SPDY/${request.spdyVersion}`);
  if (request.method === 'POST') {
    response.writeHead(200);
    request.pipe(response);
    return;
  }
  const bytes = file_of(request.url);
  response.writeHead(bytes === null ? 404 : 200);
  response.end(request.method === 'HEAD' || bytes === null ? '' : bytes);
}

function answer_stream(stream) {
  if (stream.method === 'POST') {
    stream.respond(200, {});
    stream.pipe(stream);
    return;
  }
  const bytes = file_of(stream.path);
  stream.respond(bytes === null ? 404 : 200, {});
  stream.end(stream.method === 'HEAD' || bytes === null ? '' : bytes);
}

const ignore = () => {};  // clients leave at the end of a test

const server = certificate
  ? spdy.createServer({cert: fs.readFileSync(certificate), key: fs.readFileSync(key),
                       spdy: {protocols: ['spdy/3.1']}}, answer)
  : net.createServer((socket) => {
    const connection = transport.connection.create(socket, {protocol: 'spdy', isServer: true});
    socket.on('error', ignore);
    connection.on('error', ignore);
    connection.on('stream', answer_stream);
    connection.start(3.1);
  });
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
