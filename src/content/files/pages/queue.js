
// ======== The queue of uploads on the page, and how files get into it.

// ---- adding files

// `files` are [File, path below this folder].
function add(files) {
  if (!queue.some(one => one.open)) {
    choiceForAll = '';
    for (const upload of queue) upload.earlier = true;
  }
  const kept = memory.all();
  const added = files.map(([file, name]) => {
    const path = here + ('folders' in allowed ? name : nameOf(name));
    const upload = new Upload(file, path);
    const known = kept[upload.key];
    if (known) {
      const {url, path, replaces, renamed} = known;
      Object.assign(upload, {url, path, replaces, renamed, settled: true});
      remove(queue.find(one => one.state === 'interrupted' && one.url === known.url));
    }
    return upload;
  });
  const twice = new Set(queue.filter(one => one.open).map(one => one.key));
  queue.push(...added.filter(one => !twice.has(one.key)));
  warnOfSpace();
  tell(`${filesText(files.length)} added to the queue.`);
  drawList();
  pump();
}

function warnOfSpace() {
  const room = document.querySelector('.room');
  if (!room) return;
  const left = queue.reduce((sum, one) => sum + (one.open ? one.size - one.sent : 0), 0);
  if (left > Number(room.dataset.b)) {
    shout(`These files have ${sizeText(left)}, but only ${room.textContent.trim()}.`);
  }
}

// Every file below an entry that was dropped.
async function walk(entry, folder, found) {
  if (entry.isFile) {
    const file = await new Promise((done, fail) => entry.file(done, fail)).catch(() => null);
    if (file) found.push([file, folder + file.name]);
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const some = await new Promise((done, fail) => reader.readEntries(done, fail)).catch(() => []);
    if (some.length === 0) return;
    for (const one of some) await walk(one, `${folder}${entry.name}/`, found);
  }
}
async function addDropped(transfer) {
  // Both lists are empty once this event is over.
  const entries = [...transfer.items].map(item => item.webkitGetAsEntry?.()).filter(Boolean);
  const files = [...transfer.files].map(file => [file, file.name]);
  if (!entries.some(entry => entry.isDirectory)) return add(files);
  const found = [];
  for (const entry of entries) await walk(entry, '', found);
  if (!('folders' in allowed)) shout('Folders are not kept here: their files stand side by side.');
  if (found.length === 0) shout('The folder has no files.');
  return add(found);
}

function addPasted(files) {
  const stamp = new Date().toISOString().slice(0, 19).replace('T', ' ').replaceAll(':', '.');
  add([...files].map((file, i) => {
    const generic = /^image\.\w+$/.test(file.name);  // what browsers call a picture without a name
    const number = i ? ` ${i + 1}` : '';
    const name = generic ? `Pasted ${stamp}${number}${file.name.slice(5)}` : file.name;
    return [generic ? new File([file], name, {type: file.type}) : file, name];
  }));
}

function prepareForm() {
  uploadForm.querySelector('.plain, noscript')?.remove();
  const ways = part('ways');
  uploadForm.prepend(ways);
  const touch = matchMedia('(pointer: coarse)').matches;
  const folders = 'folders' in allowed;
  ways.querySelector('strong').textContent = touch ? 'Upload files'
    : `Drop files${folders ? ' or folders' : ''} here`;
  ways.querySelector('.hint span').hidden = touch;
  ways.querySelector('button.folder').hidden =
    touch || !folders || !('webkitdirectory' in HTMLInputElement.prototype);
  ways.querySelector('button.photo').hidden = !touch;
  const pairs = [['.choose', 'files'], ['.folder', 'folder'], ['.photo', 'photo']];
  for (const [button, input] of pairs) {
    const chosen = ways.querySelector(`input.${input}`);
    ways.querySelector(`button${button}`).addEventListener('click', () => chosen.click());
    chosen.addEventListener('change', () => {
      const files = [...chosen.files].map(file => [file, file.webkitRelativePath || file.name]);
      chosen.value = '';
      if (files.length) add(files);
    });
  }
  uploadForm.addEventListener('submit', event => event.preventDefault());
}

let over = 0;  // elements that the pointer is in, with files
function listenToDrops() {
  const has = event => event.dataTransfer?.types.includes('Files');
  const mark = by => {
    over = Math.max(0, by ? over + by : 0);
    uploadForm.classList.toggle('over', over > 0);
  };
  document.addEventListener('dragenter', event => { if (has(event)) mark(1); });
  document.addEventListener('dragleave', event => { if (has(event)) mark(-1); });
  document.addEventListener('dragover', event => { if (has(event)) event.preventDefault(); });
  document.addEventListener('drop', event => {
    mark(0);
    if (!has(event)) return;
    event.preventDefault();
    addDropped(event.dataTransfer);
  });
  document.addEventListener('paste', event => {
    const files = event.clipboardData?.files;
    if (!files?.length || event.target.closest?.('input, textarea')) return;
    event.preventDefault();
    addPasted(files);
  });
}

// ---- the queue on the page

const board = uploadForm && part('queue');
const [boardList, boardSum, boardBar, boardMore] =
  ['ul', '.sum', 'progress', '.more'].map(s => board?.querySelector(s));
const totalRate = new Rate();

// The rows of the first uploads. Ended ones make room for others.
function drawList() {
  const drawn = queue.length <= rows_max ? queue
    : [...queue.filter(one => !one.ended), ...queue.filter(one => one.ended)].slice(0, rows_max);
  for (const upload of drawn) {
    if (!upload.row) {
      upload.row = part('item');
      wire(upload);
    }
    draw(upload);
  }
  const rows = drawn.map(one => one.row);
  const same = boardList.children.length === rows.length &&
    rows.every((row, i) => boardList.children[i] === row);
  if (!same) {
    const focused = document.activeElement;
    boardList.replaceChildren(...rows);
    if (boardList.contains(focused)) focused.focus({preventScroll: true});
  }
  boardMore.hidden = queue.length <= rows_max;
  boardMore.textContent = `… and ${queue.length - rows_max} more`;
  board.hidden = queue.length === 0;
  drawSum();
}

function wire(upload) {
  const {row} = upload;
  const [again, pause, cancel] = ['.again', '.pause', '.cancel'].map(s => row.querySelector(s));
  pause.addEventListener('click', () => {
    if (upload.state === 'paused') resume(upload);
    else halt(upload);
  });
  again.addEventListener('click', () => {
    if (upload.state === 'interrupted') uploadForm.querySelector('input.files').click();
    else if (upload.wake) upload.wake();
    else resume(upload);
  });
  cancel.addEventListener('click', () => discard(upload));
  row.querySelector('.digest').addEventListener('click', () => copyDigest(upload));
}

function copyDigest(upload) {
  navigator.clipboard?.writeText(upload.digest)
    .then(() => tell('The checksum is copied.'), () => {});
}

function halt(upload) {
  upload.stop('paused');
  pump();
}
function resume(upload) {
  halted = false;
  upload.tries = 0;
  upload.become('waiting');
  pump();
}
function remove(upload) {
  if (!upload) return;
  const at = queue.indexOf(upload);
  queue.splice(at, 1);
  if (claimed.get(upload.path) === upload) claimed.delete(upload.path);
  const had = upload.row?.contains(document.activeElement);
  drawList();
  if (had) (boardList.children[Math.min(at, boardList.children.length - 1)]
    ?.querySelector('button:not([hidden])') || uploadForm.querySelector('.choose')).focus();
}
// Takes it out of the queue, and what the server has of it away.
function discard(upload) {
  const {url, ended} = upload;
  upload.stop('skipped');
  memory.drop(upload);
  if (!ended) giveUp(url);
  remove(upload);
  pump();
}

function stateText(upload) {
  const {size, sent, rate} = upload;
  const progress = `${sizeText(sent)} of ${sizeText(size)}`;
  switch (upload.state) {
    case 'waiting': return `Waiting · ${sizeText(size)}`;
    case 'sending': {
      if (sent >= size) return `${progress} · being stored`;
      const speed = rate.perSecond;
      if (speed <= 0) return progress;
      return `${progress} · ${sizeText(speed)}/s · ${timeText((size - sent) / speed)} left`;
    }
    case 'retrying': {
      const left = Math.ceil((upload.retry_at - performance.now()) / 1000);
      const again = left > 0 ? `Trying again in ${left} s` : 'Trying again';
      return `${upload.text} ${again} · ${progress}`;
    }
    case 'paused': return `Paused · ${progress}`;
    case 'done': return `${sizeText(size)} uploaded`;
    case 'interrupted':
      return `Interrupted at ${Math.floor(100 * sent / Math.max(1, size))} %. ` +
        'Choose the same file again to go on.';
    default: return upload.text;
  }
}

function draw(upload) {
  const {row, state, name} = upload;
  if (!row) return;
  if (row.className !== state) {
    row.className = state;
    const [again, pause, cancel] = ['.again', '.pause', '.cancel'].map(s => row.querySelector(s));
    label(again, ['failed', 'retrying', 'interrupted'].includes(state),
          {failed: 'Try again', retrying: 'Try now', interrupted: 'Choose the file'}[state], name);
    const can_pause = resumable ? ['waiting', 'sending', 'retrying'] : ['waiting'];
    label(pause, can_pause.includes(state) || state === 'paused',
          state === 'paused' ? 'Resume' : 'Pause', name);
    pause.classList.toggle('resume', state === 'paused');
    label(cancel, true, upload.ended ? 'Remove from the list' : 'Cancel', name);
  }
  setText(row.querySelector('.name'), name);
  row.querySelector('.name').title = name;
  setText(row.querySelector('.state span'), stateText(upload));
  const bar = row.querySelector('progress');
  bar.value = upload.size ? upload.sent / upload.size : state === 'done' ? 1 : 0;
  bar.setAttribute('aria-label', name);
  const digest = row.querySelector('.digest');
  digest.hidden = state !== 'done' || !upload.digest;
  if (!digest.hidden) {
    setText(digest, `SHA-256 ${upload.digest}`);
    digest.title = 'Copy the checksum';
  }
}
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
function label(button, shows, what, name) {
  button.hidden = !shows;
  button.title = what || '';
  button.setAttribute('aria-label', `${what}: ${name}`);
}

function drawSum() {
  if (!board) return;
  const counted = queue.filter(one => !one.earlier && one.state !== 'skipped' &&
                               one.state !== 'interrupted');
  const done = counted.filter(one => one.state === 'done').length;
  const failed = counted.filter(one => one.state === 'failed').length;
  const size = counted.reduce((sum, one) => sum + one.size, 0);
  const sent = counted.reduce((sum, one) => sum + (one.state === 'done' ? one.size : one.sent), 0);
  const open = counted.filter(one => one.open);
  const moves = open.some(one => one.state === 'sending');
  if (moves) totalRate.note(sent);
  else totalRate.clear();
  const speed = totalRate.perSecond;
  const words = [`${done} of ${filesText(counted.length)}`,
                 `${sizeText(sent)} of ${sizeText(size)}`];
  if (speed > 0) words.push(`${sizeText(speed)}/s`, `${timeText((size - sent) / speed)} left`);
  if (failed) words.push(`${failed} failed`);
  if (open.length === 0) words.splice(0, 2, `${filesText(done)} uploaded`, sizeText(sent));
  const interrupted = queue.filter(one => one.state === 'interrupted').length;
  if (counted.length === 0) words.length = 0;
  if (interrupted) words.push(`${interrupted} interrupted`);
  setText(boardSum, words.join(' · '));
  boardBar.hidden = open.length === 0;
  boardBar.value = size ? sent / size : open.length ? 0 : 1;
  const [pause, cancel, clear] = ['.pause', '.cancel', '.clear']
    .map(s => board.querySelector(`header ${s}`));
  const paused = open.length > 0 && open.every(one => one.state === 'paused' ||
                                               (halted && one.state === 'waiting'));
  pause.hidden = open.length === 0;
  setText(pause, paused ? 'Resume all' : 'Pause all');
  cancel.hidden = open.length < 2;
  clear.hidden = !queue.some(one => one.ended);
}

function prepareBoard() {
  uploadForm.after(board);
  board.querySelector('header .pause').addEventListener('click', event => {
    halted = event.target.textContent === 'Pause all';
    for (const upload of queue) {
      if (halted && upload.busy && (resumable || upload.state !== 'sending')) upload.stop('paused');
      if (!halted && upload.state === 'paused') upload.become('waiting');
    }
    tell(halted ? 'All uploads are paused.' : 'All uploads go on.');
    drawSum();
    pump();
  });
  board.querySelector('header .cancel').addEventListener('click', () => {
    for (const upload of queue.filter(one => one.open)) discard(upload);
    tell('All uploads are cancelled.');
  });
  board.querySelector('header .clear').addEventListener('click', () => {
    const left = queue.filter(one => !one.ended);
    queue.splice(0, queue.length, ...left);
    drawList();
    (left.length ? board.querySelector('h2') : uploadForm.querySelector('.choose')).focus();
  });
  setInterval(tick, 250);
}

let told_at = 0;
let beaten_at = 0;
let drawn_ended = 0;
function tick() {
  if (queue.length === 0) return;
  const now = performance.now();
  for (const upload of queue) {
    const silent = upload.state === 'sending' && now > upload.silent_at;
    if (silent) upload.request?.abort();
    if (upload.busy) draw(upload);
  }
  drawSum();
  const ended = queue.filter(one => one.ended).length;
  if (queue.length > rows_max && ended !== drawn_ended) drawList();
  drawn_ended = ended;
  if (now - beaten_at > beat_ms) {
    beaten_at = now;
    memory.beat(Date.now());
  }
  if (now - told_at > 20_000 && running > 0) {
    told_at = now;
    tell(`Uploads: ${boardSum.textContent}`);
  }
}

// ---- earlier visits

async function recall() {
  for (const [key, kept] of Object.entries(memory.all())) {
    const elsewhere = Date.now() - kept.live < 3 * beat_ms;  // another page sends it
    if (elsewhere || !kept.path.startsWith(here)) continue;
    const upload = new Upload(null, kept.path, kept.size);
    Object.assign(upload, {key, url: kept.url, state: 'interrupted'});
    const answer = await fetch(kept.url, {method: 'HEAD', headers: tus}).catch(() => null);
    if (!answer) continue;
    if (queue.some(one => one.url === kept.url)) continue;  // chosen again meanwhile
    if ([403, 404, 410].includes(answer.status)) memory.drop(upload);
    if (!answer.ok) continue;
    upload.sent = Number(answer.headers.get('Upload-Offset'));
    queue.unshift(upload);
    drawList();
  }
}

if (uploadForm) {
  prepareForm();
  prepareBoard();
  listenToDrops();
  if (resumable) recall();
  addEventListener('pagehide', () => memory.beat(0));
  addEventListener('beforeunload', event => {
    if (running > 0) event.preventDefault();
  });
}
