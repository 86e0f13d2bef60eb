// node browser.js CHROMIUM URL UPLOAD_FILE FOLDER
// Opens two pages in Chromium, downloads a file into FOLDER and uploads UPLOAD_FILE through the
// form. Uploads it again under another name without JavaScript. Prints the observations as JSON.
'use strict';

const { copyFileSync } = require('node:fs');
const { basename, join } = require('node:path');
const { chromium } = require('playwright-core');

const [executablePath, url, uploadFile, folder] = process.argv.slice(2);
const seen = { problems: [], requests: [] };

// Records every error that the browser's developer tools would show.
function watch(page) {
  page.on('console', (message) => {
    const { url: about } = message.location();
    if (about.endsWith('/favicon.ico')) return;  // requested for pages without an icon
    if (message.type() === 'error') seen.problems.push(`console: ${message.text()} ${about}`);
  });
  page.on('pageerror', (error) => seen.problems.push(`page: ${error}`));
  page.on('requestfailed', (request) => {
    const reason = request.failure().errorText;
    // Chromium aborts the navigation when it turns into a download.
    if (reason !== 'net::ERR_ABORTED') seen.problems.push(`${request.url()}: ${reason}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) seen.problems.push(`${response.url()}: ${response.status()}`);
    seen.requests.push(new URL(response.url()).pathname);
  });
}

async function readPages(page) {
  await page.goto(url, { waitUntil: 'networkidle' });
  seen.titles = [await page.title()];
  seen.protocols = await page.evaluate(() => [
    ...performance.getEntriesByType('navigation'),
    ...performance.getEntriesByType('resource'),
  ].map((entry) => entry.nextHopProtocol));
  seen.badge = await page.locator('#protocol').innerText();
  seen.rules = await page.evaluate(() => [...document.styleSheets]
    .reduce((sum, sheet) => sum + sheet.cssRules.length, 0));
  seen.images = await page.evaluate(() => [...document.images].map((image) => image.naturalWidth));
  await page.click('nav a[href="/how-it-works.html"]');
  await page.waitForURL('**/how-it-works.html');
  seen.titles.push(await page.title());
}

async function download(page) {
  await page.goto(url);
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.click('a[download]'),
  ]);
  await file.saveAs(join(folder, 'downloaded'));
}

async function upload(page) {
  await page.goto(`${url}files`);
  await page.setInputFiles('input[type=file]', uploadFile);
  await page.click('form button');
  await page.waitForSelector(`td a:text-is("${basename(uploadFile)}")`);
  seen.listed = await page.locator('td a').allInnerTexts();
}

// The browser submits the form itself.
async function uploadWithoutScript(browser) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, javaScriptEnabled: false });
  const page = await context.newPage();
  watch(page);
  const copy = join(folder, `plain-${basename(uploadFile)}`);
  copyFileSync(uploadFile, copy);
  await page.goto(`${url}files`);
  await page.setInputFiles('input[type=file]', copy);
  const [response] = await Promise.all([
    page.waitForResponse((answer) => answer.request().method() === 'POST'),
    page.click('form button'),
  ]);
  seen.plainStatus = response.status();
  await page.goto(`${url}files`);
  seen.plainListed = await page.locator('td a').allInnerTexts();
}

async function main() {
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  try {
    const context = await browser.newContext({ ignoreHTTPSErrors: true, acceptDownloads: true });
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    watch(page);
    await readPages(page);
    await download(page);
    await upload(page);
    await uploadWithoutScript(browser);
  } finally {
    await browser.close();
  }
  console.log(JSON.stringify(seen));
}

main().catch((error) => {
  console.error(error);
  console.error(JSON.stringify(seen));
  process.exit(1);
});
