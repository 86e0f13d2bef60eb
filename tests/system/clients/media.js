// node media.js CHROMIUM PLACES
// Plays media near their end. PLACES is JSON: [{name, url, link}], where `link` is the text of the
// link to click on the page, if any. Prints for each name the duration, the time after the seek, and
// [status, Content-Range] of each response with content of a medium.
'use strict';

const { chromium } = require('playwright-core');
const seekToTheEnd = require('./seek.js');

const [executablePath, placesText] = process.argv.slice(2);

async function play(browser, { url, link }) {
  const page = await browser.newPage({ ignoreHTTPSErrors: true });
  page.setDefaultTimeout(60_000);
  const responses = [];
  page.on('response', response => {
    const fields = response.headers();
    if (/^(audio|video)\//.test(fields['content-type'])) {
      responses.push([response.status(), fields['content-range']]);
    }
  });
  await page.goto(url);
  if (link) await page.click(`a:text-is("${link}")`);
  const seen = await page.locator('video, audio').first().evaluate(seekToTheEnd);
  await page.close();
  return { ...seen, responses };
}

async function main() {
  const browser = await chromium.launch({
    executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
  const seen = {};
  try {
    for (const place of JSON.parse(placesText)) seen[place.name] = await play(browser, place);
  } finally {
    await browser.close();
  }
  console.log(JSON.stringify(seen));
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
