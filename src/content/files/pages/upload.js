
// ======== Uploads: a queue of files, which goes on by itself after the line or the server has come
// back. With resumable uploads (tus 1.0.0) a file goes on where it stopped, also after a reload of
// the page, once it is chosen again; otherwise by the form, from its beginning.

const allowed = document.querySelector('main').dataset;
const uploadForm = document.querySelector('.upload');
const resumable = allowed.resumable;
const at_once_max = 3;              // files; more only take bandwidth from each other
const small_at_once_max = 5;        // a browser has six connections of HTTP/1.1
const small_bytes_max = 1 << 20;    // these begin with their content: one request instead of two
const piece_bytes = 64 << 20;       // of one request
const silence_ms_max = 30_000;      // without progress: the line is dead, though nobody said so
const answer_ms_max = 180_000;      // for the answer once all is sent: a disk may be slow
const retry_ms = [500, 1000, 2000, 4000, 8000, 15_000];  // then 15 s again and again
const rows_max = 200;               // of the queue that are drawn

const part = name => document.getElementById(`part-${name}`).content.firstElementChild
  .cloneNode(true);
const wait = ms => new Promise(done => setTimeout(done, ms));

// ---- words

const size_units = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
function sizeText(bytes) {
  if (bytes < 1024) return `${Math.round(bytes)} B`;
  let unit = -1;
  do { bytes /= 1024; ++unit; } while (bytes >= 1024 && unit + 1 < size_units.length);
  return `${bytes.toFixed(bytes < 9.95 ? 1 : 0)} ${size_units[unit]}`;
}
function timeText(seconds) {
  if (seconds < 60) return `${Math.max(1, Math.ceil(seconds))} s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.round(minutes / 60 / 24)} days`;
}
const filesText = count => `${count} file${count === 1 ? '' : 's'}`;

// For screen readers, and for all.
const told = document.querySelector('.told');
const tell = text => { told.textContent = text; };
const shouted = document.querySelector('.shout');
let quiet_timer = 0;
function shout(text) {
  shouted.textContent = text;
  shouted.hidden = false;
  clearTimeout(quiet_timer);
  quiet_timer = setTimeout(() => { shouted.hidden = true; }, 8000);
}

// ---- paths

const pathUrl = path => allowed.files + path.split('/').map(encodeURIComponent).join('/');
const here = allowed.folder || '';
const nameOf = path => path.slice(path.lastIndexOf('/') + 1);

// "a (2).txt" for "a.txt", the first one that is not `taken`.
function freePath(path, taken) {
  const name = nameOf(path), folder = path.slice(0, path.length - name.length);
  const dot = name.lastIndexOf('.') > 0 ? name.lastIndexOf('.') : name.length;
  for (let number = 2;; ++number) {
    const other = `${folder}${name.slice(0, dot)} (${number})${name.slice(dot)}`;
    if (!taken(other)) return other;
  }
}

// ---- requests

// Why something failed. `again`: it may work later.
class Problem extends Error {
  constructor(text, {status = 0, again = false} = {}) {
    super(text);
    Object.assign(this, {status, again});
  }
}
const stopped = new Problem('stopped');  // by the user

const status_texts = {
  401: 'You are not signed in.', 403: 'This is not allowed.', 404: 'There is no such file.',
  409: 'A file of that name exists.', 413: 'It is too large.', 423: 'It is in use.',
  429: 'The server is busy.', 503: 'The server is busy.', 507: 'The disk of the server is full.',
};
function problemOf(request) {
  const {status} = request;
  const type = request.getResponseHeader('Content-Type') || '';
  let text = '';
  if (type.includes('json')) {
    try {
      const answer = JSON.parse(request.responseText);
      text = answer.detail || answer.title || '';
    } catch { /* the status says enough */ }
  } else if (type.startsWith('text/plain')) {
    text = request.responseText.trim().slice(0, 200);
  }
  if (text) text = text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');
  const again = [408, 423, 425, 429, 500, 502, 503, 504].includes(status);
  return new Problem(text || status_texts[status] || `The server answered ${status}.`,
                     {status, again});
}

// Sends a request for an upload, which shows its progress and can stop it.
function call(upload, method, url, fields = {}, body = null) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    upload.request = request;
    upload.heard(silence_ms_max);
    request.open(method, url);
    for (const [name, value] of Object.entries(fields)) request.setRequestHeader(name, value);
    if (body) {
      const before = upload.sent;
      request.upload.onprogress = at => {
        upload.heard(at.loaded < at.total ? silence_ms_max : answer_ms_max);
        upload.moveTo(Math.min(before + at.loaded, upload.size));
      };
    }
    request.onload = () => resolve(request);
    const broken = () => reject(new Problem('The connection broke off.', {again: true}));
    request.onerror = broken;
    request.onabort = () => (upload.state === 'sending' ? broken() : reject(stopped));
    request.onloadend = () => {
      if (upload.request === request) upload.request = null;  // there may be another one
    };
    request.send(body);
  });
}

// ---- what is remembered of uploads that are not complete, for the next visit

const memory_key = `uploads ${resumable}`;
const memory_days_max = 7;
const beat_ms = 5000;
const memory = {
  all() {
    try {
      const kept = JSON.parse(localStorage.getItem(memory_key)) || {};
      const oldest = Date.now() - memory_days_max * 86_400_000;
      return Object.fromEntries(Object.entries(kept).filter(([, one]) => one.at > oldest));
    } catch {
      return {};  // storage is off
    }
  },
  change(by) {
    if (!resumable) return;
    const kept = this.all();
    by(kept);
    try {
      localStorage.setItem(memory_key, JSON.stringify(kept));
    } catch { /* it is off or full */ }
  },
  keep(upload) {
    this.change(kept => {
      const {url, path, size, replaces, renamed} = upload;
      kept[upload.key] = {url, path, size, replaces, renamed, at: Date.now(), live: Date.now()};
    });
  },
  // Says that this page has them in its queue, so that another one does not offer them. 0: no more.
  beat(live) {
    const own = queue.filter(one => one.open && one.url);
    if (own.length === 0) return;
    this.change(kept => { for (const {key} of own) if (kept[key]) kept[key].live = live; });
  },
  drop(upload) { this.change(kept => { delete kept[upload.key]; }); },
};

// ---- one file of the queue

// Bytes per second, of the last seconds.
class Rate {
  constructor() { this.clear(); }
  clear() { this.samples = []; }
  note(total) {
    const now = performance.now(), last = this.samples.at(-1);
    if (last && now - last[0] < 200) last[1] = total;
    else this.samples.push([now, total]);
    while (this.samples.length > 2 && now - this.samples[0][0] > 6000) this.samples.shift();
  }
  get perSecond() {
    if (this.samples.length < 2) return 0;
    const [from, to] = [this.samples[0], this.samples.at(-1)];
    return (to[1] - from[1]) * 1000 / Math.max(1, performance.now() - from[0]);
  }
}

// waiting → asking → sending ⇄ retrying → done, failed or skipped; paused from any of the first.
// interrupted: an earlier visit's, whose file is to be chosen again.
class Upload {
  constructor(file, path, size = file.size) {
    Object.assign(this, {file, path, size, state: 'waiting', sent: 0, tries: 0, text: ''});
    this.key = [path, size, file ? file.lastModified : ''].join('|');
    this.rate = new Rate();
  }
  get name() { return this.path.startsWith(here) ? this.path.slice(here.length) : this.path; }
  get ended() { return ['done', 'failed', 'skipped'].includes(this.state); }
  get busy() { return ['asking', 'sending', 'retrying'].includes(this.state); }
  get open() { return !this.ended && this.state !== 'interrupted'; }
  heard(silence_ms) { this.silent_at = performance.now() + silence_ms; }
  moveTo(sent) {
    if (sent < this.sent) {  // the server has less than what was given to the system
      this.rate.clear();
      totalRate.clear();
    }
    this.sent = sent;
    this.rate.note(sent);
  }
  become(state, text = '') {
    this.state = state;
    this.text = text;
    if (state !== 'sending') this.rate.clear();
    draw(this);
  }
  stop(state) {
    const wake = this.wake;
    this.become(state);
    this.request?.abort();
    wake?.();
  }
}

// ---- the queue

const queue = [];    // all that is shown
let running = 0;     // uploads between waiting and their end
let halted = false;  // by "Pause all"
const claimed = new Map();  // path → the upload that goes there

async function pump() {
  if (halted) return;
  for (const upload of queue) {
    if (upload.state !== 'waiting') continue;
    if (running >= (upload.size <= small_bytes_max ? small_at_once_max : at_once_max)) break;
    run(upload);
  }
  drawSum();
}

async function run(upload) {
  ++running;
  upload.become('asking', 'Checking the name.');
  try {
    await settle(upload);
    if (upload.state !== 'asking') throw stopped;
    await transfer(upload);
    upload.become('done');
    afterwards(upload);
  } catch (problem) {
    if (problem !== stopped) end(upload, problem);
  } finally {
    --running;
    if (upload.ended && claimed.get(upload.path) === upload) claimed.delete(upload.path);
    pump();
  }
}

function end(upload, problem) {
  if (!(problem instanceof Problem)) console.error(problem);
  if (upload.state === 'skipped') return;
  upload.become('failed', problem.message);
  tell(`${upload.name} failed: ${problem.message}`);
}

function afterwards(upload) {
  memory.drop(upload);
  giveUp(upload.url);  // the server need not remember it any more
  refreshSoon();
  if (!queue.some(one => one.open)) {
    const done = queue.filter(one => one.state === 'done');
    tell(`${filesText(done.length)} uploaded.`);
  }
}

// Tries until it is done, or fails for a reason that stays.
async function transfer(upload) {
  for (;;) {
    upload.become('sending');
    try {
      await (resumable ? sendResumable(upload) : sendForm(upload));
      await putInPlace(upload);
      return;
    } catch (problem) {
      if (problem.status === 409 || problem.status === 412) {
        if (!resumable && upload.broke && await isStored(upload)) return;
        await settleTaken(upload);
        continue;
      }
      if (!problem.again) throw problem;
      await beforeRetry(upload, problem);
    }
  }
}

async function beforeRetry(upload, problem) {
  if (upload.sent > (upload.sent_before || 0)) upload.tries = 0;  // it got somewhere
  upload.sent_before = upload.sent;
  upload.broke = true;
  const ms = retry_ms[Math.min(upload.tries++, retry_ms.length - 1)] * (0.75 + Math.random() / 2);
  upload.retry_at = performance.now() + ms;
  upload.become('retrying', problem.message);
  await Promise.race([wait(ms), new Promise(wake => { upload.wake = wake; })]);
  upload.wake = null;
  if (upload.state !== 'retrying') throw stopped;
  try {
    await upload.file.slice(0, 1).arrayBuffer();
  } catch {
    throw new Problem('The file has changed or is gone. Choose it again.');
  }
}
addEventListener('online', () => { for (const upload of queue) upload.wake?.(); });

// ---- by tus 1.0.0

const tus = {'Tus-Resumable': '1.0.0'};
const base64 = text => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

async function sendResumable(upload) {
  let offset = upload.url ? await offsetOf(upload) : null;
  if (offset === null) offset = await create(upload);
  upload.moveTo(offset);
  while (offset < upload.size) {
    const piece = upload.file.slice(offset, offset + piece_bytes);
    const answer = await call(upload, 'PATCH', urlOf(upload), {
      ...tus, 'Upload-Offset': offset, 'Content-Type': 'application/offset+octet-stream'}, piece);
    if (answer.status === 409) {
      // Also the answer if the name was taken meanwhile; then this one says so, too.
      const now = await offsetOf(upload);
      if (now === offset) throw new Problem('The file is in use.', {again: true});
      offset = now ?? 0;
    } else if (answer.status === 404 || answer.status === 410) {
      upload.url = null;  // it has expired
      throw new Problem('The server has dropped the upload.', {again: true});
    } else if (answer.status !== 204 && answer.status !== 200) {
      throw problemOf(answer);
    } else {
      offset = Number(answer.getResponseHeader('Upload-Offset'));
      upload.digest = digestIn(answer);
    }
    upload.moveTo(offset);
  }
  if (!upload.digest) await askDigest(upload);
}

// Removes what the server has of an upload. A stored file stays.
function giveUp(url) {
  if (url) fetch(url, {method: 'DELETE', headers: tus, keepalive: true}).catch(() => {});
}

// The server stores it under the name in the query, if there is one.
const urlOf = upload =>
  upload.url + (upload.renamed ? `?name=${encodeURIComponent(upload.path)}` : '');

// Returns how much of it the server has.
async function create(upload) {
  const metadata = [['filename', upload.path], ['filetype', upload.file.type]];
  const fields = {
    ...tus, 'Upload-Length': upload.size,
    'Upload-Metadata': metadata.filter(([, value]) => value)
      .map(([name, value]) => `${name} ${base64(value)}`).join(',')};
  const whole = upload.size > 0 && upload.size <= small_bytes_max;
  if (whole) fields['Content-Type'] = 'application/offset+octet-stream';
  upload.moveTo(0);
  const answer = await call(upload, 'POST', resumable, fields, whole ? upload.file : null);
  const location = answer.getResponseHeader('Location');
  if (location) {
    const url = new URL(location, new URL(resumable, document.URL));
    upload.url = url.pathname + url.search;
    memory.keep(upload);
  }
  if (answer.status !== 201) throw problemOf(answer);
  upload.digest = digestIn(answer);
  return Number(answer.getResponseHeader('Upload-Offset') || 0);
}

// Returns null if the server does not know the upload any more.
async function offsetOf(upload) {
  const answer = await call(upload, 'HEAD', urlOf(upload), tus);
  if ([403, 404, 410].includes(answer.status)) return null;
  if (answer.status !== 200 && answer.status !== 204) throw problemOf(answer);
  upload.digest = digestIn(answer);
  return Number(answer.getResponseHeader('Upload-Offset'));
}

// RFC 9530: Repr-Digest: sha-256=:BASE64:
function digestIn(answer) {
  const found = /sha-256=:([A-Za-z0-9+/=]+):/.exec(answer.getResponseHeader('Repr-Digest') || '');
  if (!found) return '';
  return [...atob(found[1])].map(c => c.charCodeAt(0).toString(16).padStart(2, '0')).join('');
}
async function askDigest(upload) {
  try {
    const answer = await fetch(upload.url, {headers: {Accept: 'application/json'}});
    if (answer.ok) upload.digest = (await answer.json()).sha256 || '';
  } catch { /* the file is stored in any case */ }
}

// ---- by the form

async function sendForm(upload) {
  const data = new FormData();
  data.append('file', upload.file, upload.path);
  upload.moveTo(0);
  const answer = await call(upload, 'POST', allowed.upload, {Accept: 'application/json'}, data);
  if (answer.status !== 201) throw problemOf(answer);
  upload.moveTo(upload.size);
  try {
    upload.digest = JSON.parse(answer.responseText)[0].sha256 || '';
  } catch { /* it is stored in any case */ }
}

// ---- names that exist already

// Returns what the page shows of the file at that path, or null.
function shownAt(path) {
  if (typeof rows === 'undefined' || !path.startsWith(here)) return null;
  return rows.find(one => !one.folder && one.name === path.slice(here.length)) || null;
}
const isTaken = path => claimed.has(path) || shownAt(path) !== null;

// Asks the server about a path in a folder that is not shown; null if there is nothing.
async function askAt(path) {
  const answer = await fetch(pathUrl(path), {method: 'HEAD'});
  if (!answer.ok) return null;
  return {size: Number(answer.headers.get('Content-Length')),
          modified: Date.parse(answer.headers.get('Last-Modified'))};
}
async function existingAt(path) {
  const shown = shownAt(path);
  if (shown || !path.slice(here.length).includes('/')) return shown;
  if (!('overwrite' in allowed)) return null;  // the server will refuse it
  const [top] = path.slice(here.length).split('/');
  if (typeof rows === 'undefined') return null;
  if (!rows.some(one => one.folder && one.name === `${top}/`)) return null;
  return askAt(path).catch(() => null);
}

// Decides once under which name a file goes.
async function settle(upload) {
  if (upload.settled) return;
  const other = claimed.get(upload.path);
  const existing = other && other !== upload ? other : await existingAt(upload.path);
  if (existing) await ask(upload, existing);
  claimed.set(upload.path, upload);
  upload.settled = true;
}
// Returns true if a form was stored, and only the answer got lost.
async function isStored(upload) {
  if (upload.choice) return false;
  const existing = await askAt(upload.path).catch(() => null);
  return existing?.size === upload.size;
}
// The server says that the name is taken.
async function settleTaken(upload) {
  if (upload.choice === 'replace' && !upload.replaces) throw new Problem(status_texts[409]);
  if (claimed.get(upload.path) === upload) claimed.delete(upload.path);
  if (upload.choice === 'both') {
    upload.path = freePath(upload.path, isTaken);
  } else {
    const existing = await askAt(upload.path).catch(() => null);
    await ask(upload, existing);
  }
  claimed.set(upload.path, upload);
  upload.renamed = Boolean(upload.url);  // what it has received stays
  if (upload.url) memory.keep(upload);
}

const askDialog = document.querySelector('dialog.ask');
let askedLast = Promise.resolve();  // one question at a time
let choiceForAll = '';
async function ask(upload, existing) {
  const before = askedLast;
  upload.become('asking', 'This name exists already.');
  const mine = (async () => {
    await before;
    if (upload.state !== 'asking') throw stopped;
    return choiceForAll || askNow(upload, existing);
  })();
  askedLast = mine.catch(() => {});
  const choice = await mine;
  if (upload.state !== 'asking') throw stopped;
  choose(upload, choice);
}

function choose(upload, choice) {
  upload.choice = choice;
  if (choice === 'skip') {
    upload.become('skipped', 'Skipped: the name exists.');
    throw new Problem('skipped');
  }
  if (choice === 'replace' && 'overwrite' in allowed) return;
  // Otherwise it takes the place of the other once it is complete.
  if (choice === 'replace') upload.replaces = upload.path;
  upload.path = freePath(upload.path, isTaken);
}

function askNow(upload, existing) {
  const facts = one => [sizeText(one.size), one.modified ? when.format(new Date(one.modified)) : '']
    .filter(Boolean).join(', ');
  const [title, text, rest] = ['h2', '.facts', '.rest'].map(s => askDialog.querySelector(s));
  const others = queue.filter(one => one.state === 'waiting' || one.state === 'asking').length - 1;
  title.textContent = `“${upload.name}” exists already`;
  text.textContent = (existing ? `There: ${facts(existing)}\n` : '') +
    `Yours: ${facts({size: upload.size, modified: upload.file.lastModified})}`;
  rest.hidden = others < 1;
  rest.querySelector('span').textContent = 'Do the same for all others';
  rest.querySelector('input').checked = false;
  askDialog.querySelector('[value=replace]').hidden =
    !('overwrite' in allowed || 'manage' in allowed);
  let choice = 'skip';  // of Escape
  askDialog.querySelector('form').onsubmit = event => { choice = event.submitter.value; };
  askDialog.showModal();
  return new Promise(done => {
    askDialog.addEventListener('close', () => {
      if (rest.querySelector('input').checked) choiceForAll = choice;
      done(choice);
    }, {once: true});
  });
}
const when = new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'short'});

async function putInPlace(upload) {
  if (!upload.replaces) return;
  await move(pathUrl(upload.path), pathUrl(upload.replaces), true);
  upload.path = upload.replaces;
  upload.replaces = null;
}
async function move(from, to, overwrite) {
  const answer = await fetch(from, {
    method: 'MOVE', headers: {Destination: new URL(to, document.URL).href,
                              Overwrite: overwrite ? 'T' : 'F'}});
  if (answer.ok) return;
  const text = answer.status === 412 ? status_texts[409] : status_texts[answer.status];
  throw new Problem(text || `The server answered ${answer.status}.`);
}
