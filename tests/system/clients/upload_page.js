// node upload_page.js CHROMIUM URL SCENE FOLDER [ARGUMENT...]
// Uses the page of an upload directory as a person would. Prints lines of JSON: {"reached": NAME}
// when it waits for the test, which answers by a line on the standard input, and at the end what
// was seen. Leaves screenshots in FOLDER.
'use strict';

const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const readline = require('node:readline');
const { chromium } = require('playwright-core');

const [executablePath, url, scene, folder, ...args] = process.argv.slice(2);
const seen = { problems: [], other_hosts: [] };
const answers = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();

// Lets the test do something meanwhile.
async function reach(name) {
  console.log(JSON.stringify({ reached: name }));
  await answers.next();
}

// A line that breaks is no problem of the page.
const expected = /net::ERR_|status of (404|409|412|423|502|503)/;

async function open(browser, options = {}) {
  const context = await browser.newContext({
    ignoreHTTPSErrors: true, viewport: { width: 1100, height: 850 }, ...options });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  page.on('console', message => {
    if (message.type() !== 'error' || expected.test(message.text())) return;
    seen.problems.push(`console: ${message.text()}`);
  });
  page.on('pageerror', error => seen.problems.push(`page: ${error}`));
  page.on('request', request => {
    const { host, protocol } = new URL(request.url());
    if (protocol !== 'data:' && host !== new URL(url).host) seen.other_hosts.push(request.url());
  });
  page.on('dialog', dialog => dialog.accept());  // "leave the page?"
  await page.goto(url);
  return page;
}

const shoot = (page, name) => page.screenshot({ path: join(folder, `${name}.png`) });
const names = page => page.locator('tbody a:not(.u)').allInnerTexts();
const listed = (page, name) => page.waitForSelector(`tbody a:text-is("${name}")`);
const choose = (page, files) => page.setInputFiles('input.files', files);
const ended = (page, count) => page.waitForFunction(
  count => document.querySelectorAll('.queue li.done').length === count, count);
const wide = page => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
const progress = page => page.evaluate(() => document.querySelector('progress.all').value);
const moved = (page, from) => page.waitForFunction(
  from => document.querySelector('progress.all').value > from, from);

// Drops files and folders of this machine, as a file manager does.
async function drop(page, files) {
  const devtools = await page.context().newCDPSession(page);
  const data = { items: [], files, dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop']) {
    await devtools.send('Input.dispatchDragEvent', { type, x: 300, y: 150, data });
    if (type !== 'dragOver') continue;
    seen.over = await page.locator('.upload.over').count();
  }
}

const scenes = {
  // Three files and a folder, while the line is cut and the server killed.
  async broken(browser) {
    const page = await open(browser);
    await drop(page, args);
    await moved(page, 0.1);
    await page.locator('.queue .sum', { hasText: 'left' }).waitFor();
    seen.figures = await page.locator('.queue .sum').innerText();
    await shoot(page, 'sending');
    await reach('under way');
    await page.waitForSelector('.queue li.retrying');
    seen.retrying = await page.locator('.queue li.retrying .state').first().innerText();
    await shoot(page, 'retrying');
    const before = await progress(page);
    await reach('cut');
    await moved(page, Math.max(before, 0.3));
    await reach('under way again');
    await page.waitForSelector('.queue li.retrying');
    await reach('killed');
    await page.waitForFunction(() => document.querySelectorAll('.queue li').length ===
      document.querySelectorAll('.queue li.done').length);
    seen.sum = await page.locator('.queue .sum').innerText();
    seen.digests = Object.fromEntries(await page.evaluate(() =>
      [...document.querySelectorAll('.queue li')].map(row => [
        row.querySelector('.name').textContent,
        row.querySelector('.digest').textContent.replace('SHA-256 ', '')])));
    await page.waitForFunction(() => document.querySelectorAll('tbody a:not(.u)').length === 4);
    seen.names = await names(page);
    await shoot(page, 'done');
  },

  // Pause and resume, then a reload in the middle: the same file goes on where it stopped.
  async reload(browser) {
    const page = await open(browser);
    await choose(page, args[0]);
    await moved(page, 0.05);
    await page.click('.queue li .pause');
    await page.waitForSelector('.queue li.paused');
    seen.paused = await page.locator('.queue li .state').innerText();
    await shoot(page, 'paused');
    await page.click('.queue li .pause');
    await moved(page, 0.2);
    await page.reload();
    await page.waitForSelector('.queue li.interrupted');
    seen.interrupted = await page.locator('.queue li .state').innerText();
    await shoot(page, 'interrupted');
    const patches = [];
    page.on('request', request => {
      if (request.method() === 'PATCH') patches.push(request.headers()['upload-offset']);
    });
    await choose(page, args[0]);
    await ended(page, 1);
    seen.offset = Number(patches[0]);
    seen.rows = await page.locator('.queue li').count();
    await page.reload();
    await page.waitForSelector('.queue', { state: 'hidden' });
    seen.kept = await page.evaluate(() => localStorage.length && Object.values(localStorage));
  },

  async cancel(browser) {
    const page = await open(browser);
    await choose(page, args[0]);
    await moved(page, 0.05);
    await page.click('.queue li .cancel');
    await page.waitForSelector('.queue', { state: 'hidden' });
    seen.focused = await page.evaluate(() => document.activeElement.textContent);
  },

  // The name exists: keep both, skip, replace.
  async names(browser) {
    const page = await open(browser);
    seen.buttons = await page.evaluate(() => [...document.querySelectorAll('dialog.ask button')]
      .map(button => button.value));
    for (const choice of ['both', 'skip', 'replace']) {
      await choose(page, args[0]);
      await page.waitForSelector('dialog.ask[open]');
      await shoot(page, `ask-${choice}`);
      if (choice === 'skip') await page.keyboard.press('Escape');
      else await page.click(`dialog.ask [value=${choice}]`);
      await page.waitForFunction(() =>
        document.querySelectorAll('.queue li:is(.done, .skipped)').length === 1);
      await page.click('.queue .clear');
    }
    await listed(page, 'note (2).txt');
    seen.names = await names(page);
  },

  async manage(browser) {
    const page = await open(browser);
    await page.click('.new-folder');
    await page.keyboard.type('new');
    await page.keyboard.press('Enter');
    await listed(page, 'new/');
    await page.locator('tbody a:text-is("one.txt")').focus();
    await page.keyboard.press('F2');
    await page.keyboard.type('two');  // the extension is not selected
    await shoot(page, 'rename');
    await page.keyboard.press('Enter');
    await listed(page, 'two.txt');
    await page.click('[aria-label="Rename two.txt"]');
    await page.fill('dialog.rename input', 'taken.txt');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelector('dialog.rename .problem').textContent);
    seen.taken = await page.locator('dialog.rename .problem').innerText();
    await page.click('dialog.rename .close');
    await page.click('[aria-label="Delete taken.txt"]');
    await shoot(page, 'delete');
    await page.click('dialog.remove .danger');
    await page.waitForSelector('tbody a:text-is("taken.txt")', { state: 'detached' });
    seen.names = await names(page);
    await page.click('tbody a.d');
    await page.waitForURL(/new\/$/);
    await choose(page, args[0]);
    await ended(page, 1);
    seen.crumbs = await page.locator('nav li').allInnerTexts();
    await listed(page, 'note.txt');
  },

  async offers(browser) {
    const page = await open(browser);
    seen.new_folder = await page.locator('.new-folder').count();
    seen.rename = await page.locator('.icon.rename').count();
    seen.folder = await page.locator('button.folder').isVisible();
    await choose(page, args[0]);
    await page.waitForSelector('dialog.ask[open]');
    seen.replace = await page.locator('dialog.ask [value=replace]').isVisible();
  },

  // Others' changes appear, also after the server was away.
  async changes(browser) {
    const page = await open(browser);
    await page.waitForFunction(() => changes?.readyState === EventSource.OPEN);
    await page.locator('tbody a').first().focus();
    await reach('open');
    await listed(page, 'theirs.txt');
    seen.told = await page.locator('.told').innerText();
    seen.focused = await page.evaluate(() => document.activeElement.textContent);
    await reach('seen');
    await page.waitForSelector('tbody a:text-is("theirs.txt")', { state: 'detached' });
    await page.click('th button:text("Size")');
    await reach('gone');
    await listed(page, 'large.bin');
    seen.by_size = await names(page);
    seen.summary = await page.locator('.tools p').innerText();
    await reach('back');
    await listed(page, 'later.txt');
  },

  // A picture is pasted, and a photo is taken.
  async pictures(browser) {
    const page = await open(browser);
    await page.evaluate(() => {
      const data = new DataTransfer();
      data.items.add(new File(['picture'], 'image.png', { type: 'image/png' }));
      document.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }));
    });
    await ended(page, 1);
    seen.photo_offered = await page.locator('button.photo').isVisible();
    const phone = await open(browser, { hasTouch: true, isMobile: true });
    await phone.locator('button.photo').waitFor();
    seen.capture = await phone.locator('input.photo').getAttribute('capture');
    await phone.setInputFiles('input.photo', args[0]);
    await ended(phone, 1);
  },

  // Rules for accessibility in every state, and the width of phones.
  async looks(browser) {
    const rules = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
    seen.violations = [];
    seen.wide = [];
    const kinds = [['light', 1100], ['light', 320], ['dark', 1100], ['dark', 375]];
    for (const [colorScheme, width] of kinds) {
      const look = async (page, name) => {
        if (await wide(page)) seen.wide.push(`${name} ${width}`);
        await shoot(page, `${colorScheme}-${width}-${name}`);
        await page.evaluate(rules);
        const { violations } = await page.evaluate(() => axe.run());
        seen.violations.push(...violations.map(one =>
          `${name} ${colorScheme} ${width}: ${one.id}: ${one.nodes[0].html}`));
      };
      await everyState(browser, { colorScheme, viewport: { width, height: 800 } }, look);
    }
  },

  // A server without resumable uploads: the form, sent by the script. It can't go on in the middle.
  async form(browser) {
    const context = await browser.newContext();
    const page = await context.newPage();
    page.on('pageerror', error => seen.problems.push(`page: ${error}`));
    await page.route(url, async route => {
      const answer = await route.fetch();
      const body = (await answer.text()).replace(' data-resumable="/uploads"', '');
      await route.fulfill({ response: answer, body });
    });
    await page.goto(url);
    await page.unroute(url);
    await choose(page, args);
    await moved(page, 0.1);
    seen.pause = await page.locator('.queue li.sending .pause').first().isVisible();
    await reach('under way');
    await page.waitForSelector('.queue li.retrying');
    await reach('cut');
    await ended(page, args.length);
    seen.digests = await page.evaluate(() => [...document.querySelectorAll('.queue .digest')]
      .map(one => one.textContent.replace('SHA-256 ', '')));
  },

  async plain(browser) {
    const page = await open(browser, {
      javaScriptEnabled: false, viewport: { width: 375, height: 700 } });
    seen.width = await page.evaluate(() => document.documentElement.scrollWidth);
    await shoot(page, 'plain');
    await page.setInputFiles('input[type=file]', args[0]);
    const [answer] = await Promise.all([
      page.waitForResponse(one => one.request().method() === 'POST'),
      page.click('.upload button')]);
    seen.status = answer.status();
  },
};

async function everyState(browser, options, look) {
  const page = await open(browser, options);
  await page.waitForSelector('[aria-label="Delete note.txt"]');
  await look(page, 'idle');
  await choose(page, args);
  await page.waitForSelector('dialog.ask[open]');
  await look(page, 'ask');
  await page.click('dialog.ask [value=both]');
  await page.click('.queue header .pause');
  await page.waitForSelector('.queue li.paused');
  await look(page, 'paused');
  await reach('paused');
  await page.click('.queue header .pause');
  await ended(page, args.length);
  await page.waitForFunction(() => document.getAnimations().length === 0);
  await look(page, 'done');
  await page.click('[aria-label="Rename note.txt"]');
  await look(page, 'rename');
  await page.keyboard.press('Escape');
  await page.click('[aria-label="Delete note.txt"]');
  await look(page, 'delete');
  await page.keyboard.press('Escape');
  await reach('looked');
  await page.context().close();
}

async function main() {
  const browser = await chromium.launch({
    executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
  try {
    await scenes[scene](browser);
  } finally {
    await browser.close();
  }
  console.log(JSON.stringify(seen));
  process.exit(0);  // the standard input may be open
}

main().catch(error => {
  console.error(error, JSON.stringify(seen));
  process.exit(1);
});
