
// ======== Changes: the list follows the folder, and where it is allowed, files and folders are
// renamed, deleted and made.

const listed = typeof table !== 'undefined';

// ---- the list as it is now

const refresh_ms_min = 300;  // several changes share a request
let refreshing = false;
let refresh_again = false;
let refresh_timer = 0;
let refresh_took_ms = 0;

// A long list takes long, so it is fetched less often.
function refreshSoon() {
  if (!listed || refresh_timer) return;
  refresh_timer = setTimeout(refresh, Math.max(refresh_ms_min, 5 * refresh_took_ms));
}
async function refresh() {
  refresh_timer = 0;
  if (!listed) return;
  if (refreshing) {
    refresh_again = true;
    return;
  }
  refreshing = true;
  const began = performance.now();
  try {
    const answer = await fetch(location.pathname + location.search,
                               {headers: {Accept: 'text/html'}, cache: 'no-store'});
    if (answer.ok) merge(parseMain(await answer.text()));
  } catch { /* the next change tries again */ } finally {
    refresh_took_ms = performance.now() - began;
    refreshing = false;
  }
  if (refresh_again) {
    refresh_again = false;
    refreshSoon();
  }
}

// Without the head, whose style has a nonce that is not this page's.
function parseMain(page) {
  const main = page.slice(page.indexOf('<main'), page.indexOf('</main>'));
  return new DOMParser().parseFromString(main, 'text/html');
}

function merge(fresh) {
  const latest = fresh.querySelector('table');
  if (!latest) return;
  const href = one => one.link.getAttribute('href');
  const facts = one => `${one.size} ${one.modified} ${one.link.className}`;
  const before = new Map(rows.map(one => [href(one), one]));
  const names = [];
  const after = readAll(latest).map(one => {
    const known = before.get(href(one));
    if (known && facts(known) === facts(one)) return known;
    if (!known) names.push(one.shown);
    document.adoptNode(one.row).classList.add('new');
    return one;
  });
  const gone = rows.length + names.length - after.length;
  const changed = after.some((one, i) => one !== rows[i]) || gone > 0;
  showNotes(fresh);
  if (!changed) return;
  const lost = rows.find(one => one.row.contains(document.activeElement) && !after.includes(one));
  const at = rows.indexOf(lost);
  rows = after;
  sort();
  arrange();
  filter();
  if (lost) (rows[Math.min(at, rows.length - 1)]?.link || search).focus();
  announce(names, gone);
}

function announce(names, gone) {
  const words = [];
  if (names.length === 1) words.push(`New: ${names[0]}.`);
  if (names.length > 1) words.push(`${names.length} new entries.`);
  if (gone > 0) words.push(`${gone} gone.`);
  if (words.length) tell(words.join(' '));
}

// What stands around the list.
function showNotes(fresh) {
  const text = fresh.querySelector('.tools p');
  if (text) summary = text.textContent;
  if (text && !search.value) count.textContent = summary;
  for (const selector of ['.empty', '.note']) {
    document.querySelector(selector)?.remove();
    const note = fresh.querySelector(selector);
    if (note) table.after(document.adoptNode(note));
  }
  const [room, now] = [document.querySelector('.room'), fresh.querySelector('.room')];
  if (room && now) {
    room.textContent = now.textContent;
    room.dataset.b = now.dataset.b;
  }
}

// ---- changes that others make

// A connection of HTTP/1.1 is scarce: browsers open six for all pages of a server. So a page that
// is not seen has none.
let changes = null;
let missed = false;
function follow() {
  if (changes || document.hidden) return;
  changes = new EventSource(`${location.pathname}?events`);
  changes.addEventListener('change', refreshSoon);
  changes.addEventListener('open', () => {
    if (missed) refreshSoon();
    missed = false;
  });
  changes.addEventListener('error', () => {
    missed = true;
    if (changes?.readyState !== EventSource.CLOSED) return;  // it connects again by itself
    changes = null;
    setTimeout(follow, 10_000);
  });
}
if (listed && 'events' in allowed) {
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) {
      missed = true;
      follow();
    } else if (changes) {
      changes.close();
      changes = null;
    }
  });
  follow();
}

// ---- rename, delete, new folder

const [renameDialog, removeDialog] =
  ['rename', 'remove'].map(name => document.querySelector(`dialog.${name}`));
for (const one of [renameDialog, removeDialog]) {
  one.querySelector('.close').addEventListener('click', () => one.close());
}

// Shows a dialog. `act` does what it is for, and throws a Problem if that fails.
function showForm(dialog, act) {
  const problem = dialog.querySelector('.problem');
  problem.textContent = '';
  const form = dialog.querySelector('form');
  form.onsubmit = async event => {
    event.preventDefault();
    try {
      await act();
      dialog.close();
      refresh();
    } catch (failure) {
      problem.textContent = failure instanceof Problem ? failure.message
        : 'The server does not answer.';
    }
  };
  dialog.showModal();
}

async function manage(method, url, fields = {}) {
  const answer = await fetch(url, {method, headers: fields});
  if (answer.ok) return;
  const texts = {...status_texts, 405: 'The name exists already.', 412: 'The name exists already.'};
  throw new Problem(texts[answer.status] || `The server answered ${answer.status}.`);
}
function checkedName(text) {
  const name = text.trim();
  if (/[/\\]/.test(name)) throw new Problem('A name can’t contain / or \\.');
  if (name.startsWith('.')) throw new Problem('A name can’t begin with a dot.');
  return name;
}
function askName(title, button, value, act) {
  renameDialog.querySelector('h2').textContent = title;
  renameDialog.querySelector('[value=done]').textContent = button;
  const input = renameDialog.querySelector('input');
  input.value = value;
  showForm(renameDialog, () => act(checkedName(input.value)));
  const dot = value.lastIndexOf('.');
  input.focus();
  input.setSelectionRange(0, dot > 0 ? dot : value.length);
}

function rename(one) {
  const name = one.name.replace(/\/$/, ''), shown = one.shown.replace(/\/$/, '');
  askName(`Rename “${shown}”`, 'Rename', name, async to => {
    if (to === name) return;
    const target = pathUrl(here + to) + (one.folder ? '/' : '');
    await manage('MOVE', one.link.href,
                 {Destination: new URL(target, document.URL).href, Overwrite: 'F'});
    tell(`${shown} is now ${to}.`);
  });
}
function removeFile(one) {
  const name = one.shown.replace(/\/$/, '');
  removeDialog.querySelector('h2').textContent = `Delete “${name}”?`;
  removeDialog.querySelector('.facts').textContent =
    one.folder ? 'All that is in the folder goes, too. This cannot be undone.'
      : 'This cannot be undone.';
  showForm(removeDialog, async () => {
    await manage('DELETE', one.link.href);
    tell(`${name} is deleted.`);
  });
}

function decorate(row) {
  if (row.cells.length > 3) return;
  const cell = row.insertCell();
  const one = read(row);
  if (!one) return;  // the one of the parent folder
  const actions = [['rename', 'Rename', rename], ['delete', 'Delete', removeFile]];
  for (const [kind, what, act] of actions) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = `icon ${kind}`;
    button.title = what;
    button.setAttribute('aria-label', `${what} ${one.shown}`);
    button.addEventListener('click', () => act(one));
    cell.append(button);
  }
}
if (listed && 'manage' in allowed) {
  const head = document.createElement('th');
  head.scope = 'col';
  head.innerHTML = '<span class="quiet">Actions</span>';
  table.tHead.rows[0].append(head);
  // As with the times: only of rows that are seen.
  const decorator = new IntersectionObserver(blocks => {
    for (const {isIntersecting, target} of blocks) {
      if (isIntersecting) for (const row of target.rows) decorate(row);
    }
  }, {rootMargin: '50%'});
  watchers.push(decorator);
  for (const block of table.tBodies) decorator.observe(block);
  document.addEventListener('keydown', event => {
    const one = rows.find(other => other.link === document.activeElement);
    if (!one || document.querySelector('dialog[open]')) return;
    if (event.key === 'F2') rename(one);
    else if (event.key === 'Delete') removeFile(one);
    else return;
    event.preventDefault();
  });
}
if (listed && 'folders' in allowed && uploadForm) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'button new-folder';
  button.textContent = 'New folder';
  document.querySelector('.tools p').after(button);
  button.addEventListener('click', () => askName('New folder', 'Make', '', async name => {
    await manage('MKCOL', `${pathUrl(here + name)}/`);
    tell(`The folder ${name} is made.`);
  }));
}
