// node status_page.js CHROMIUM URL REQUESTS
// Opens the status page on a phone and on a desk, in light and dark. Once it shows that number of
// requests, and paths, prints what it sees as a line of JSON. Then waits until the page says that
// the connection is lost, and after a line of standard input until it is live again; prints "cut"
// and "live".
'use strict';

const { once } = require('node:events');
const { chromium } = require('playwright-core');

const [executablePath, url, requests] = process.argv.slice(2);
const seen = { problems: [], visits: [] };

function watch(page) {
  page.setDefaultTimeout(60_000);
  page.on('console', (message) => {
    if (message.type() === 'error') seen.problems.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => seen.problems.push(`page: ${error}`));
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol !== 'data:' && origin !== new URL(url).origin) {
      seen.problems.push(`a request to ${origin}`);
    }
  });
}

async function in_state(page, state) {
  await page.waitForSelector(`#line[data-state=${state}]`);
}

function look(page) {
  return page.evaluate(() => {
    const texts = (selector) => [...document.querySelectorAll(selector)].map((e) => e.textContent);
    const area = document.querySelector('#heat').getContext('2d');
    const { width, height } = area.canvas;
    return {
      overflow: document.documentElement.scrollWidth > innerWidth,
      background: getComputedStyle(document.body).backgroundColor,
      paths: texts('#paths tbody td:first-child'),
      workers: document.querySelectorAll('#workers tbody tr').length,
      connections: texts('#connections tbody td:first-child'),
      images: document.querySelectorAll('main img').length,
      heat: area.getImageData(0, 0, width, height).data.some((value) => value > 0),
      names: [...document.querySelectorAll('[role=img]')].map((e) => e.getAttribute('aria-label')),
      captions: document.querySelectorAll('table:not(:has(caption))').length,
    };
  });
}

async function visit(browser, width, colorScheme) {
  const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
  watch(page);
  await page.goto(url);
  await in_state(page, 'live');
  await page.waitForFunction(
    (wanted) => {
      const { width, height } = document.querySelector('#heat');
      return document.querySelector('#t-requests').textContent === wanted
        && document.querySelectorAll('#paths .bar').length > 1 && width > 0
        && document.querySelector('#heat').getContext('2d')
          .getImageData(0, 0, width, height).data.some((value) => value > 0);
    }, requests);
  seen.visits.push(await look(page));
  return page;
}

async function main() {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  await (await visit(browser, 375, 'dark')).close();
  const page = await visit(browser, 1280, 'light');
  await page.click('#connections button[data-key=client]');
  seen.sorted = await page.getAttribute('#connections th:first-child', 'aria-sort');
  await page.focus('#plots');
  await page.keyboard.press('ArrowLeft');
  await page.click('#pause');
  seen.paused = await page.textContent('#line');
  await page.click('#pause');
  console.log(JSON.stringify(seen));
  await in_state(page, 'cut');
  console.log('cut');
  await once(process.stdin, 'data');
  await in_state(page, 'live');
  console.log('live');
  await browser.close();
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
