// The page works without this script, which adds: filtering and sorting in place, local times, a
// preview and keys.
'use strict';
const table = document.querySelector('table');
const search = document.querySelector('input[type=search]');
const count = document.querySelector('.tools p');
const collator = new Intl.Collator(undefined, {numeric: true, sensitivity: 'base'});
// The text of a link has escapes for what readers do not see.
function linkedName(link) {
  try {
    return decodeURIComponent(/[^/]*\/?$/.exec(link.getAttribute('href'))[0]);
  } catch {
    return link.textContent;  // not UTF-8
  }
}
// What a row of a file or folder says; null for the one of the parent folder.
function read(row) {
  if (!row.cells[2].hasChildNodes()) return null;
  const link = row.cells[0].firstChild, time = row.cells[2].firstChild;
  return {
    row, link, name: linkedName(link), shown: link.textContent, folder: link.className === 'd',
    size: Number(row.cells[1].dataset.b || 0), modified: Date.parse(time.dateTime) || 0,
  };
}
const readAll = of => [...of.tBodies].flatMap(block => [...block.rows]).map(read).filter(Boolean);
let rows = readAll(table);
let shown = rows;

// ---- local times

const clock = new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'short'});
const localise = new IntersectionObserver(blocks => {
  for (const {isIntersecting, target} of blocks) {
    if (!isIntersecting) continue;
    for (const time of target.querySelectorAll('time[datetime]:not([title])')) {
      time.title = time.dateTime;
      time.textContent = clock.format(new Date(time.dateTime));
    }
  }
}, {rootMargin: '50%'});
for (const block of table.tBodies) localise.observe(block);

// ---- filter

let summary = count.textContent;
function filter() {
  const wanted = search.value.toLowerCase();
  shown = rows.filter(one => {
    const found = one.name.toLowerCase().includes(wanted);
    if (one.row.hidden === found) one.row.hidden = !found;
    return found;
  });
  count.textContent = wanted ? `${shown.length} of ${rows.length} shown` : summary;
}
if (!location.search.includes('filter=')) search.addEventListener('input', filter);
search.form.addEventListener('submit', event => {
  if (event.submitter && event.submitter.name) return;
  if (location.search.includes('filter=')) return;
  event.preventDefault();
});

// ---- sort

const order = {
  name: (a, b) => collator.compare(a.name, b.name),
  size: (a, b) => a.size - b.size,
  modified: (a, b) => a.modified - b.modified,
};
const block_rows = 64;
const watchers = [localise];  // of blocks
// Puts the rows into blocks again, behind the one of the parent folder.
function arrange() {
  const parent = table.querySelector('a.u')?.closest('tr');
  const focused = document.activeElement;
  const count = Math.max(1, Math.ceil(rows.length / block_rows));
  while (table.tBodies.length > count) table.tBodies[count].remove();
  while (table.tBodies.length < count) table.append(document.createElement('tbody'));
  for (const [i, block] of [...table.tBodies].entries()) {
    const own = rows.slice(i * block_rows, (i + 1) * block_rows).map(one => one.row);
    block.replaceChildren(...(i === 0 && parent ? [parent] : []), ...own);
    for (const watcher of watchers) {
      watcher.unobserve(block);
      watcher.observe(block);
    }
  }
  if (table.contains(focused)) focused.focus({preventScroll: true});
}
let sorting = null;  // what was chosen in place
function sort() {
  if (!sorting) return;
  const by = order[sorting.by];
  rows.sort((a, b) => b.folder - a.folder || (sorting.down ? -1 : 1) * by(a, b));
}
for (const button of document.querySelectorAll('th button')) {
  button.addEventListener('click', event => {
    event.preventDefault();
    const head = button.closest('th');
    const down = head.getAttribute('aria-sort') === 'ascending';
    for (const other of document.querySelectorAll('th')) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    sorting = {by: button.value.replace('-', ''), down};
    sort();
    arrange();
    shown = rows.filter(one => !one.row.hidden);
  });
}

// ---- preview

const text_bytes_max = 256 * 1024;
const dialog = document.querySelector('dialog.preview');
const stage = dialog.querySelector('.stage');
const [heading, open, download] = ['h2', 'a.open', 'a.download'].map(s => dialog.querySelector(s));
let current = null;

const makers = {
  i: link => Object.assign(new Image(), {src: link.href, alt: link.textContent}),
  v: link => Object.assign(document.createElement('video'),
    {src: link.href, controls: true, autoplay: true}),
  a: link => Object.assign(document.createElement('audio'),
    {src: link.href, controls: true, autoplay: true}),
  p: link => Object.assign(document.createElement('iframe'),
    {src: link.href, title: link.textContent}),
  t: link => {
    const text = document.createElement('pre');
    text.tabIndex = 0;
    text.textContent = 'Loading …';
    fetch(link.href, {headers: {Range: `bytes=0-${text_bytes_max - 1}`}})
      .then(answer => {
        if (answer.status === 416) return new ArrayBuffer(0);  // an empty file
        return answer.ok ? answer.arrayBuffer() : Promise.reject(new Error(answer.statusText));
      })
      .then(bytes => {
        text.textContent = new TextDecoder().decode(bytes.slice(0, text_bytes_max));
        if (bytes.byteLength >= text_bytes_max) text.textContent += '\n… (the beginning only)';
      })
      .catch(error => { text.textContent = `It can't be loaded: ${error.message}`; });
    return text;
  },
};

function show(one) {
  current = one;
  heading.textContent = one.shown;
  open.href = one.link.href;
  download.href = one.link.href;
  download.download = one.name;
  stage.replaceChildren(makers[one.link.className](one.link));
  if (!dialog.open) dialog.showModal();
}
function step(by) {
  const can = shown.filter(one => one.link.className in makers);
  const next = can[can.indexOf(current) + by];
  if (next) show(next);
}
table.addEventListener('click', event => {
  const link = event.target.closest('a');
  const plain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
  if (!link || !plain || !(link.className in makers)) return;
  event.preventDefault();
  show(rows.find(one => one.link === link));
});
dialog.addEventListener('close', () => {
  stage.replaceChildren();  // stops what plays
  if (current) current.link.focus();
});
dialog.addEventListener('click', event => { if (event.target === dialog) dialog.close(); });
for (const [name, by] of [['previous', -1], ['next', 1]]) {
  dialog.querySelector(`.${name}`).addEventListener('click', () => step(by));
}
dialog.querySelector('.close').addEventListener('click', () => dialog.close());

// ---- keys

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (dialog.open) {
    const playing = event.target.matches('video, audio, pre');
    if (event.key === 'ArrowLeft' && !playing) step(-1);
    if (event.key === 'ArrowRight' && !playing) step(1);
    return;
  }
  if (document.querySelector('dialog[open]')) return;
  if (event.target.matches('input:not([type=search]), textarea, select')) return;
  const visible = shown.map(one => one.link);
  const at = visible.indexOf(document.activeElement);
  const typing = event.target === search;
  if (event.key === '/' && !typing) search.focus();
  else if (event.key === 'Escape' && typing) { search.value = ''; filter(); }
  else if (event.key === 'ArrowDown') (visible[at + 1] || visible[0] || search).focus();
  else if (event.key === 'ArrowUp' && at >= 0) (visible[at - 1] || search).focus();
  else if (event.key === 'Backspace' && !typing) document.querySelector('a.u')?.click();
  else return;
  event.preventDefault();
});
