// node uppy.js CHROMIUM URL FILE...
// Uploads the files by uppy.html, at URL, in Chromium. Prints lines of JSON: {"reached": NAME} when
// it waits for the test, which answers by a line on the standard input, and at the end what was
// seen.
'use strict';

const readline = require('node:readline');
const { chromium } = require('playwright-core');

const [executablePath, url, ...files] = process.argv.slice(2);
const answers = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function reach(name) {
  console.log(JSON.stringify({ reached: name }));
  await answers.next();
}

async function upload(browser) {
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  const problems = [];
  page.on('pageerror', error => problems.push(String(error)));
  await page.goto(url);
  await page.setInputFiles('input', files);
  await page.evaluate(() => { window.uploaded = uppy.upload(); });
  await page.waitForFunction(() => created() === uppy.getFiles().length);
  const broken = page.waitForEvent('requestfailed');
  await reach('under way');
  await broken;
  await reach('cut');
  return page.evaluate(async problems => {
    const result = await uploaded;
    return {
      problems: [...problems, ...seen.failed],
      answers: seen.answers,
      urls: Object.fromEntries(result.successful.map(file => [file.name, file.uploadURL])),
    };
  }, problems);
}

async function main() {
  const browser = await chromium.launch({
    executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
  try {
    console.log(JSON.stringify(await upload(browser)));
  } finally {
    await browser.close();
  }
  process.exit(0);  // the standard input may be open
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
