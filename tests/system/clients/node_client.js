// Node's built-in clients: node node_client.js PROTOCOL PORT CA_FILE NAME
// Gets /page, uploads it as NAME, downloads the upload, and gets /page 20 times concurrently.
// Prints the results as JSON.
'use strict';

const { createHash } = require('node:crypto');
const { readFileSync } = require('node:fs');
const http = require('node:http');
const http2 = require('node:http2');
const https = require('node:https');

const [protocol, port, certificate, name] = process.argv.slice(2);
const encrypted = protocol.endsWith('tls');
const ca = encrypted ? readFileSync(certificate) : undefined;

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

async function collect(stream) {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

class Http1 {
  constructor() {
    const agent = { keepAlive: true, maxSockets: 4 };
    this.module = encrypted ? https : http;
    this.agent = new this.module.Agent(agent);
  }

  send(method, path, headers = {}, body = null) {
    const options = { host: 'localhost', port, method, path, headers, agent: this.agent, ca };
    return new Promise((resolve, reject) => {
      const request = this.module.request(options, async (response) => {
        const version = response.httpVersion;
        resolve({ status: response.statusCode, version, body: await collect(response) });
      });
      request.on('error', reject);
      request.end(body);
    });
  }

  close() {
    this.agent.destroy();
  }
}

class Http2 {
  constructor() {
    this.session = http2.connect(`${encrypted ? 'https' : 'http'}://localhost:${port}`, { ca });
    this.session.on('error', (error) => { throw error; });
  }

  send(method, path, headers = {}, body = null) {
    const stream = this.session.request({ ':method': method, ':path': path, ...headers });
    stream.end(body);
    return new Promise((resolve, reject) => {
      stream.on('error', reject);
      stream.on('response', async (fields) => {
        resolve({ status: fields[':status'], version: '2', body: await collect(stream) });
      });
    });
  }

  close() {
    this.session.close();
  }
}

async function main() {
  const client = protocol.startsWith('h2') ? new Http2() : new Http1();
  const page = await client.send('GET', '/page');
  const disposition = `Content-Disposition: form-data; name="file"; filename="${name}"`;
  const form = Buffer.concat([Buffer.from(`--limit\r\n${disposition}\r\n\r\n`), page.body,
    Buffer.from('\r\n--limit--\r\n')]);
  const type = 'multipart/form-data; boundary=limit';
  const upload = await client.send('POST', '/files', { 'content-type': type }, form);
  const again = await client.send('GET', `/files/${name}`);
  const many = await Promise.all(Array.from({ length: 20 }, () => client.send('GET', '/page')));
  const absent = await client.send('GET', '/absent');
  client.close();
  console.log(JSON.stringify({
    versions: [...new Set([page, upload, again, ...many].map((answer) => answer.version))],
    statuses: [page, upload, again, absent].map((answer) => answer.status),
    page: sha256(page.body),
    again: sha256(again.body),
    many: [...new Set(many.map((answer) => sha256(answer.body)))],
  }));
}

main();
