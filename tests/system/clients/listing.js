// node listing.js CHROMIUM URL FOLDER [many]
// Uses the list of a directory as a person would, with and without a script. Prints what was seen
// as JSON, and leaves screenshots in FOLDER.
'use strict';

const { join } = require('node:path');
const { chromium } = require('playwright-core');

const [executablePath, url, folder, many] = process.argv.slice(2);
const seen = { problems: [] };

function watch(page) {
  page.on('console', message => {
    if (message.type() === 'error') seen.problems.push(`console: ${message.text()}`);
  });
  page.on('pageerror', error => seen.problems.push(`page: ${error}`));
}

const names = page => page.locator('tbody tr:not([hidden]) a:not(.u)').allInnerTexts();
const wide = page => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);

async function withScript(browser) {
  const page = await browser.newPage(
    { ignoreHTTPSErrors: true, viewport: { width: 1100, height: 800 } });
  page.setDefaultTimeout(60_000);
  watch(page);
  await page.goto(url);
  seen.all = await names(page);
  await page.screenshot({ path: join(folder, 'light.png') });
  await page.keyboard.press('/');
  await page.keyboard.type('TXT');
  seen.filtered = await names(page);
  seen.count = await page.locator('.tools p').innerText();
  await page.keyboard.press('Escape');
  await page.click('th button:text("Size")');
  seen.bySize = await names(page);
  await page.click('th button:text("Size")');
  seen.bySizeDown = await names(page);
  seen.times = await page.locator('time').first().getAttribute('title');
  await preview(page);
  await page.locator('body').press('ArrowDown');
  seen.focused = await page.evaluate(() => document.activeElement.textContent);
  await page.click('a.d');
  await page.waitForURL(/sub%20dir/);  // until it is loaded: a click waits for its beginning only
  seen.crumbs = await page.locator('nav li').allInnerTexts();
  await page.locator('body').press('Backspace');
  await page.waitForURL(url);
}

async function preview(page) {
  await page.click('a:text-is("note.txt")');
  await page.waitForFunction(() => /hello/.test(document.querySelector('dialog pre')?.textContent));
  seen.text = await page.locator('dialog pre').innerText();
  await page.screenshot({ path: join(folder, 'preview.png') });
  await page.keyboard.press('Escape');
  await page.click('a:text-is("picture.svg")');
  await page.waitForFunction(() => document.querySelector('dialog img')?.naturalWidth > 0);
  seen.picture = await page.evaluate(() => document.querySelector('dialog img').naturalWidth);
  await page.click('dialog .close');
  seen.open = await page.evaluate(() => document.querySelector('dialog').open);
}

async function withoutScript(browser) {
  const context = await browser.newContext({
    ignoreHTTPSErrors: true, javaScriptEnabled: false, colorScheme: 'dark',
    viewport: { width: 390, height: 780 } });
  const page = await context.newPage();
  watch(page);
  await page.goto(url);
  seen.plain = await names(page);
  seen.wide = await wide(page);
  await page.screenshot({ path: join(folder, 'phone-dark.png') });
  await page.click('th button:text("Size")');
  await page.waitForURL(/sort=size/);
  seen.plainBySize = await names(page);
  await page.fill('input[type=search]', 'txt');
  await page.press('input[type=search]', 'Enter');
  await page.waitForURL(/filter=txt/);
  seen.plainFiltered = await names(page);
}

async function manyFiles(browser) {
  const page = await browser.newPage({ ignoreHTTPSErrors: true });
  watch(page);
  page.setDefaultTimeout(90_000);
  await page.goto(url);
  seen.rows = await page.evaluate(() => document.querySelectorAll('tbody tr').length);
  await page.fill('input[type=search]', '9999');
  seen.count = await page.locator('.tools p').innerText();
}

async function main() {
  const browser = await chromium.launch({
    executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
  try {
    if (many) {
      await manyFiles(browser);
    } else {
      await withScript(browser);
      await withoutScript(browser);
    }
  } finally {
    await browser.close();
  }
  console.log(JSON.stringify(seen));
}

main().catch(error => {
  console.error(error, JSON.stringify(seen));
  process.exit(1);
});
