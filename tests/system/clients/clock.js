// node clock.js CHROMIUM URL
// Opens the page of examples/clock, light and dark, as wide as a phone. Prints as JSON what it shows
// after three events.
'use strict';

const { chromium } = require('playwright-core');

const [executablePath, url] = process.argv.slice(2);

async function look(browser, colorScheme) {
  const context = await browser.newContext({
    ignoreHTTPSErrors: true, colorScheme, viewport: { width: 360, height: 640 },
  });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const problems = [];
  page.on('pageerror', (error) => problems.push(error.message));
  await page.goto(url);
  await page.waitForFunction(() => document.querySelectorAll('li').length >= 3);
  const seen = await page.evaluate(() => ({
    time: document.querySelector('time').textContent,
    state: document.querySelector('#state').textContent,
    events: [...document.querySelectorAll('li')].map((line) => line.textContent),
    background: getComputedStyle(document.body).backgroundColor,
    fits: document.documentElement.scrollWidth <= window.innerWidth,
    protocol: performance.getEntriesByType('navigation')[0].nextHopProtocol,
  }));
  await context.close();
  return { ...seen, problems };
}

async function main() {
  const browser = await chromium.launch({
    executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  try {
    console.log(JSON.stringify([await look(browser, 'light'), await look(browser, 'dark')]));
  } finally {
    await browser.close();
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
