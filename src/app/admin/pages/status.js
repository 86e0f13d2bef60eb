// Shows what /-/status/events says, once a second. Everything from there is put in as text: paths
// and addresses are whatever clients sent.
'use strict';

const seconds = 120;      // the width of both plots
const silence_ms = 5000;  // so long without an event, and the connection is taken for broken
const retry_ms_max = 10000;
const rows_max = 200;
const text_max = 100;     // characters of a path or a name
const none = '–';

const $ = id => document.getElementById(id);
const list = value => Array.isArray(value) ? value : [];
const known = value => typeof value === 'number' && Number.isFinite(value);

// ---- texts

const whole = new Intl.NumberFormat('en', {maximumFractionDigits: 0});
const short = new Intl.NumberFormat('en', {notation: 'compact', maximumFractionDigits: 1});
const clock = new Intl.DateTimeFormat(undefined, {timeStyle: 'medium'});

const number = value => known(value) ? whole.format(value) : none;
const brief = value => !known(value) ? none : (value < 1e5 ? whole : short).format(value);
function bytes(value) {
  if (!known(value)) return none;
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; ++unit) value /= 1024;
  return `${value.toFixed(unit > 0 && value < 10 ? 1 : 0)} ${units[unit]}`;
}
function age(value) {
  if (!known(value)) return none;
  const s = Math.max(0, Math.floor(value)), minutes = Math.floor(s / 60) % 60;
  if (s < 60) return `${s} s`;
  if (s < 3600) return minutes < 10 ? `${minutes} min ${s % 60} s` : `${minutes} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${minutes} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor(s / 3600) % 24} h`;
}
function duration(us) {
  if (us < 1000) return `${us} µs`;
  return us < 1e6 ? `${us / 1000} ms` : `${us / 1e6} s`;
}
// Shows the code points that would change the order or the look of what stands around them.
const plain = text => typeof text !== 'string' ? none : shortened(text).replace(
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, c => `\\u{${c.codePointAt(0).toString(16)}}`);
function shortened(text) {
  const characters = [...text];
  return characters.length <= text_max ? text : `${characters.slice(0, text_max).join('')}…`;
}

// ---- elements

// Sets text only where it differs, so that selections and the reading position stay.
function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
// A cell: text, or {text, n: right-aligned, wide: not on phones, share: bar, kind: class, badge}.
function put_cell(cell, value) {
  const {text, n, wide, share, kind, badge} = typeof value === 'string' ? {text: value} : value;
  const names = [n && 'n', wide && 'wide', known(share) && 'bar', kind].filter(Boolean).join(' ');
  if (cell.className !== names) cell.className = names;
  if (known(share)) cell.style.setProperty('--share', Math.min(1, Math.max(0, share)));
  if (!badge) return put(cell, text);
  if (cell.firstElementChild === null) cell.replaceChildren(document.createElement('span'));
  cell.firstElementChild.className = `badge ${badge}`;
  put(cell.firstElementChild, text);
}
// `values` is an array of the event, or missing; `row_of` makes the cells of each.
function put_rows(id, values, row_of) {
  const rows = list(values).slice(0, rows_max).map(row_of);
  const empty = Array.isArray(values) ? 'None' : none;
  const body = $(id).tBodies[0], columns = $(id).tHead.rows[0].cells.length;
  if (rows.length === 0) {
    if (body.rows.length === 1 && body.rows[0].cells.length === 1) return;
    body.replaceChildren();
    const cell = body.insertRow().insertCell();
    Object.assign(cell, {colSpan: columns, className: 'none', textContent: empty});
    return;
  }
  if (body.rows[0]?.cells.length === 1) body.replaceChildren();
  while (body.rows.length > rows.length) body.lastElementChild.remove();
  for (const [i, cells] of rows.entries()) {
    const row = body.rows[i] ?? body.insertRow();
    for (const [column, cell] of cells.entries()) {
      put_cell(row.cells[column] ?? row.insertCell(), cell);
    }
  }
}
const n = (text, more = {}) => ({text, n: true, ...more});

// ---- the last two minutes

let past = [];    // by unix_s, the newest last
let bounds = [];  // microseconds; counts have one more, for what is above

function add_history(entries) {
  const by_second = new Map(past.map(entry => [Math.round(entry.unix_s), entry]));
  for (const entry of entries) {
    if (known(entry?.unix_s)) by_second.set(Math.round(entry.unix_s), entry);
  }
  past = [...by_second.values()].sort((a, b) => a.unix_s - b.unix_s);
  const newest = past.at(-1)?.unix_s ?? 0;
  past = past.filter(entry => newest - entry.unix_s < seconds - 0.5);
}
// Returns an entry, or undefined, for each second; the newest is last.
function slots() {
  const at = new Array(seconds).fill(undefined), newest = past.at(-1)?.unix_s ?? 0;
  for (const entry of past) at[seconds - 1 - Math.round(newest - entry.unix_s)] = entry;
  return at;
}
function summed(entries) {
  const sum = new Array(bounds.length + 1).fill(0);
  for (const entry of entries) {
    for (const [i, count] of list(entry.counts).entries()) if (i < sum.length) sum[i] += count;
  }
  return sum;
}
// The upper bound of the bucket in which that share of the requests ends.
function quantile(counts, share) {
  const total = counts.reduce((a, b) => a + b, 0);
  if (total === 0 || bounds.length === 0) return none;
  let left = Math.max(1, Math.ceil(total * share));
  const at = counts.findIndex(count => (left -= count) <= 0);
  return at < bounds.length ? duration(bounds[at]) : `> ${duration(bounds.at(-1))}`;
}

function round_up(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  const steps = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map(step => step * power);
  return steps.find(step => step >= value) ?? steps.at(-1);
}
function put_axis(id, marks) {
  const axis = $(id);
  while (axis.children.length > marks.length) axis.lastElementChild.remove();
  for (const [i, [share, text]] of marks.entries()) {
    const mark = axis.children[i] ?? axis.appendChild(document.createElement('li'));
    mark.style.bottom = `${share * 100}%`;
    put(mark, text);
  }
}
function draw_rate(at) {
  const top = round_up(Math.max(2, ...at.map(entry => entry?.requests ?? 0)));
  let curve = '', area = '', start = -1;
  for (let x = 0; x <= seconds; ++x) {
    const entry = at[x];
    if (entry) {
      curve += `${start < 0 ? 'M' : 'L'}${x + 0.5} ${99 - 97 * (entry.requests ?? 0) / top}`;
      if (start < 0) start = x;
    }
    if (entry || start < 0) continue;
    const piece = curve.slice(curve.lastIndexOf('M'));
    area += `${piece}L${x - 0.5} 100L${start + 0.5} 100Z`;
    start = -1;
  }
  $('rate').querySelector('.curve').setAttribute('d', curve);
  $('rate').querySelector('.area').setAttribute('d', area);
  put_axis('rate-axis', [[0.98, brief(top)], [0.5, brief(top / 2)], [0.02, '0']]);
  $('rate').setAttribute('aria-label', `Requests per second over two minutes: now ${
    number(at.at(-1)?.requests)}, at most ${number(Math.max(...past.map(e => e.requests)))}`);
}

const heat_colours = () =>
  getComputedStyle(document.documentElement).getPropertyValue('--heat').trim().split(/\s+/);
function draw_heat(at) {
  const canvas = $('heat'), ratio = window.devicePixelRatio || 1;
  const width = Math.round(canvas.clientWidth * ratio);
  const height = Math.round(canvas.clientHeight * ratio);
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, {width, height});
  const pen = canvas.getContext('2d'), colours = heat_colours(), buckets = bounds.length + 1;
  const gap = width / seconds > 6 && ratio > 1 ? 1 : 0;
  pen.clearRect(0, 0, width, height);
  const most = Math.max(1, ...past.flatMap(entry => list(entry.counts)));
  const x_of = x => Math.round(x * width / seconds), y_of = y => Math.round(y * height / buckets);
  for (const [x, entry] of at.entries()) {
    for (const [bucket, count] of list(entry?.counts).entries()) {
      if (count <= 0 || bucket >= buckets) continue;
      // By the logarithm, so that the one slow request in thousands is seen.
      const level = (Math.log1p(count) / Math.log1p(most)) ** 1.5 * colours.length;
      pen.fillStyle = colours[Math.min(colours.length - 1, Math.floor(level))];
      const top = y_of(buckets - 1 - bucket), left = x_of(x);
      pen.fillRect(left, top, Math.max(1, x_of(x + 1) - left - gap),
                   Math.max(1, y_of(buckets - bucket) - top - 1));
    }
  }
  put_axis('heat-axis', [...bounds.entries()]
    .filter(([, us]) => Number.isInteger(Math.log10(us)))
    .map(([i, us]) => [(i + 1) / buckets, duration(us)]));
  const all = summed(past);
  canvas.setAttribute('aria-label', `Latency heat map of two minutes: half of the requests within ${
    quantile(all, 0.5)}, 99 % within ${quantile(all, 0.99)}`);
}
function put_scale() {
  $('scale').replaceChildren(...heat_colours().map(colour => {
    const step = document.createElement('i');
    step.style.background = colour;
    return step;
  }));
}
function put_quantiles() {
  const newest = past.at(-1)?.unix_s ?? 0;
  put_rows('quantiles', [[10, '10 s'], [60, '1 min'], [seconds, '2 min']], ([span, name]) => {
    const entries = past.filter(entry => newest - entry.unix_s < span - 0.5);
    const counts = summed(entries);
    const requests = entries.reduce((sum, entry) => sum + (entry.requests ?? 0), 0);
    return [name, n(number(requests), {wide: true}),
            ...[0.5, 0.9, 0.99, 1].map(share => n(quantile(counts, share), {wide: share === 0.9}))];
  });
}

let chosen = null;  // the unix_s of the second under the pointer or chosen by the arrow keys
function put_cursor(at) {
  const x = at.findIndex(entry => entry && entry.unix_s === chosen);
  for (const cursor of document.querySelectorAll('.cursor')) {
    cursor.style.display = x < 0 ? 'none' : 'block';
    cursor.style.left = `${(x + 0.5) / seconds * 100}%`;
  }
  const entry = at[x], counts = entry && summed([entry]);
  put($('readout'), !entry ? '' : `${clock.format(entry.unix_s * 1000)} · ${
    number(entry.requests)} requests · half within ${quantile(counts, 0.5)} · 99 % within ${
    quantile(counts, 0.99)}`);
}
function draw_plots() {
  const at = slots();
  draw_rate(at);
  draw_heat(at);
  put_quantiles();
  put_cursor(at);
}

// ---- the rest

function put_tiles(status) {
  const totals = status.totals ?? {}, last = past.at(-1);
  const recent = summed(past.slice(-10));
  put($('t-rate'), brief(last?.requests));
  put($('t-median'), quantile(recent, 0.5));
  put($('t-p99'), quantile(recent, 0.99));
  put($('t-bytes'), bytes(last?.response_bytes));
  put($('t-connections'), brief(totals.connections));
  put($('t-streams'), brief(totals.streams));
  put($('t-requests'), brief(totals.requests));
  put($('t-errors'), brief(totals.errors_5xx));
  $('t-errors').parentElement.classList.toggle('bad', totals.errors_5xx > 0);
}
function put_about(status) {
  put($('version'), status.version ?? '');
  put($('about'), [
    known(status.uptime_s) ? `up ${age(status.uptime_s)}` : none,
    status.scheme, status.engine, known(status.pid) ? `process ${status.pid}` : null,
  ].filter(Boolean).join(' · '));
  const {lines, dropped} = status.log ?? {};
  put($('log'), `${number(lines)} lines, ${number(dropped)} dropped`);
}
function put_tables(status) {
  const most = Math.max(1, ...list(status.paths).map(one => one.count));
  put_rows('paths', status.paths, one =>
    [{text: plain(one.path), share: one.count / most}, n(number(one.count))]);
  const fullest = Math.max(1, ...list(status.workers).map(one => one.connections ?? 0));
  put_rows('workers', status.workers, one => [
    number(one.number), {text: number(one.connections), share: (one.connections ?? 0) / fullest},
    n(number(one.streams)), n(brief(one.requests)), n(number(one.waiting), {wide: true})]);
  put_rows('sites', status.sites, one => [
    one.name === '' ? '(any other host)' : plain(one.name), n(brief(one.requests)),
    n(number(one.errors), {kind: one.errors > 0 ? 'bad' : ''}), n(bytes(one.response_bytes))]);
  put_rows('uploads', status.uploads, one => [
    {text: plain(one.site ? `${one.site}${one.path}` : one.path),
     share: known(one.size) && one.size > 0 ? one.received / one.size : 0},
    n(known(one.size) ? `${bytes(one.received)} of ${bytes(one.size)}` : bytes(one.received)),
    n(age(one.age_s), {wide: true})]);
}
function put_gauge(id, used, most) {
  put($(id), known(most) ? `${bytes(used)} of ${bytes(most)}` : bytes(used));
  $(id).style.setProperty('--share', known(used) && most > 0 ? Math.min(1, used / most) : 0);
}
function put_cache(cache) {
  put($('c-files'), number(cache.files));
  const all = cache.hits + cache.misses;
  put($('c-hits'), all > 0 ? `${(Math.floor(cache.hits / all * 1000) / 10).toFixed(1)} %` : none);
  put_gauge('c-bytes', cache.bytes, cache.bytes_max);
  put_gauge('c-snapshots', cache.snapshot_bytes, cache.snapshot_bytes_max);
}
function put_memory(memory) {
  put($('m-refused'), number(memory.refused));
  put($('m-cut-off'), number(memory.cut_off));
  put_gauge('m-bytes', memory.bytes, memory.bytes_max);
  put_rows('memory', memory.owners, one => [
    {text: plain(one.name), share: memory.bytes_max > 0 ? one.bytes / memory.bytes_max : 0},
    n(bytes(one.bytes))]);
}
// Colour and words: at 30 days one should look, at 7 act, at 1 hurry.
function put_certificates(certificates) {
  const judge = days => !known(days) ? [none, '']
    : days < 0 ? ['expired', 'bad'] : days <= 1 ? [`${Math.floor(days)}, renew now`, 'bad']
    : days <= 7 ? [`${Math.floor(days)}, renew`, 'bad']
    : days <= 30 ? [`${Math.floor(days)}, soon`, 'warn'] : [number(Math.floor(days)), 'fine'];
  const sorted = certificates && [...list(certificates)]
    .sort((a, b) => (a.days_left ?? 0) - (b.days_left ?? 0));
  put_rows('certificates', sorted, one => {
    const [text, badge] = judge(one.days_left);
    return [plain(list(one.names).join(', ') || one.site || one.file), n(text, {badge})];
  });
}

const order = {key: 'age_s', down: true};
const collator = new Intl.Collator('en', {numeric: true});
function put_connections(status) {
  const all = list(status.connections), {key, down} = order;
  const compare = (a, b) => typeof a[key] === 'number' && typeof b[key] === 'number'
    ? a[key] - b[key] : collator.compare(a[key] ?? '', b[key] ?? '');
  const sorted = [...all].sort((a, b) => (down ? -1 : 1) * compare(a, b));
  put_rows('connections', status.connections && sorted, one => [
    plain(one.client), one.protocol ? plain(one.protocol) : none,
    {text: one.tls ? plain(one.tls) : none, wide: true}, n(age(one.age_s)),
    n(number(one.requests), {wide: true}),
    n(one.idle ? 'idle' : number(one.active), {kind: one.idle ? 'none' : ''}),
    n(one.upload_bytes > 0 ? bytes(one.upload_bytes) : none, {wide: true}),
    n(number(one.worker), {wide: true})]);
  const hidden = (status.connections_left_out ?? 0) + Math.max(0, all.length - rows_max);
  put($('connections-count'), status.totals ? number(status.totals.connections) : '');
  put($('connections-more'), hidden > 0 ? `${number(hidden)} more are not shown.` : '');
}
for (const button of document.querySelectorAll('th button')) {
  button.addEventListener('click', () => {
    const {key} = button.dataset, head = button.closest('th');
    order.down = order.key === key ? !order.down : head.classList.contains('n');
    order.key = key;
    for (const other of document.querySelectorAll('th')) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', order.down ? 'descending' : 'ascending');
    if (latest) put_connections(latest);
  });
}

// ---- events

let latest = null, paused = false;
function show(status) {
  put_about(status);
  put_tiles(status);
  draw_plots();
  put_tables(status);
  put_cache(status.cache ?? {});
  put_memory(status.memory ?? {});
  put_connections(status);
  put_certificates(status.certificates);
}
function take(status) {
  // Another process counts anew.
  if (latest && (status.pid !== latest.pid || status.uptime_s < latest.uptime_s)) past = [];
  latest = status;
  bounds = list(status.latency_bounds_us);
  add_history(list(status.history));
  if (!paused) show(status);
}
function say(state, text) {
  $('line').dataset.state = state;
  document.body.classList.toggle('cut', state === 'cut');
  put($('line'), text);
}

let events = null, heard = 0, tries = 0;
function connect() {
  events?.close();
  heard = performance.now();
  events = new EventSource('/-/status/events');
  events.onmessage = event => {
    heard = performance.now();
    tries = 0;
    say(paused ? 'wait' : 'live', paused ? 'Paused' : 'Live');
    take(JSON.parse(event.data));
  };
  events.onerror = lost;
  // The last two minutes; events bring each further second. If it fails, so do the events.
  fetch('/-/status.json').then(answer => answer.json()).then(take, () => {});
}
function lost() {
  events?.close();
  events = null;
  say('cut', 'Connection lost, trying again …');
  setTimeout(connect, Math.min(retry_ms_max, 1000 * 2 ** tries++));
}
setInterval(() => { if (events && performance.now() - heard > silence_ms) lost(); }, 1000);

$('pause').addEventListener('click', () => {
  paused = !paused;
  $('pause').setAttribute('aria-pressed', paused);
  if (events) say(paused ? 'wait' : 'live', paused ? 'Paused' : 'Live');
  if (!paused && latest) show(latest);
});

// ---- the cursor in the plots

function choose(x) {
  const at = slots();
  chosen = at[Math.min(seconds - 1, Math.max(0, x))]?.unix_s ?? null;
  put_cursor(at);
}
for (const field of document.querySelectorAll('.field')) {
  field.addEventListener('pointermove', event => {
    const {left, width} = field.getBoundingClientRect();
    choose(Math.floor((event.clientX - left) / width * seconds));
  });
  field.addEventListener('pointerleave', () => choose(-1 / 0));
}
$('plots').addEventListener('keydown', event => {
  const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
  if (event.key === 'Escape') chosen = null;
  else if (step) {
    const at = past.findIndex(entry => entry.unix_s === chosen);
    const next = at < 0 ? past.length - 1 : Math.min(past.length - 1, Math.max(0, at + step));
    chosen = past[next]?.unix_s ?? null;
  } else return;
  event.preventDefault();
  put_cursor(slots());
});

function redraw() {
  put_scale();
  draw_heat(slots());
}
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
new ResizeObserver(() => draw_heat(slots())).observe($('heat'));
put_scale();
connect();
