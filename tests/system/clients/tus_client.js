// tus-js-client: node tus_client.js ENDPOINT FILE OPTIONS
// Uploads a file, with the client's own retries. OPTIONS is JSON. Prints a line for each chunk, and
// at the end the URL of the upload as JSON.
'use strict';

const { createReadStream } = require('node:fs');
const { PassThrough } = require('node:stream');
const tus = require('tus-js-client');

const [endpoint, file, text] = process.argv.slice(2);
const options = JSON.parse(text);

// The client asks a file for its size, but not another stream.
const deferred = options.uploadLengthDeferred;
const source = deferred ? createReadStream(file).pipe(new PassThrough()) : createReadStream(file);

const upload = new tus.Upload(source, {
  endpoint,
  chunkSize: 1 << 20,
  retryDelays: Array(100).fill(100),
  ...options,
  onChunkComplete: (size, accepted) => console.log(`chunk ${accepted}`),
  onError: (error) => {
    console.log(`error ${error.message}`);
    process.exit(1);
  },
  onSuccess: () => {
    console.log(JSON.stringify({ url: upload.url }));
    // Over TLS, an answer that comes before Node has finished to write a request leaves that
    // request open (tus-js-client 4.3.1 waits for a "drain", with tusd too), and its socket keeps
    // Node alive for as long as the server waits.
    process.exit();
  },
});
upload.start();
