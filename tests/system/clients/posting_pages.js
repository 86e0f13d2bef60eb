// node posting_pages.js CHROMIUM [[PAGE, TARGET, NAME], ...]
// On each PAGE, a script posts a file called NAME-fetch to TARGET; then a form posts one called
// NAME. site.test and other.test resolve to 127.0.0.1. Prints the statuses of the form responses as
// JSON.
'use strict';

const { chromium } = require('playwright-core');

const [executablePath, visits] = process.argv.slice(2);

async function postForm(page, target, name) {
  const [response] = await Promise.all([
    page.waitForResponse((answer) => answer.request().method() === 'POST'),
    page.evaluate(([action, fileName]) => {
      const form = document.createElement('form');
      const input = document.createElement('input');
      const files = new DataTransfer();
      files.items.add(new File(['content'], fileName));
      Object.assign(form, { method: 'post', enctype: 'multipart/form-data', action });
      Object.assign(input, { type: 'file', name: 'file', files: files.files });
      form.append(input);
      document.body.append(form);
      form.submit();
    }, [target, name]),
  ]);
  await page.waitForLoadState();
  return response.status();
}

// A no-cors response is opaque to the script. It suffices to wait for the end of the request.
async function postByScript(page, target, name) {
  await page.evaluate(async ([action, fileName]) => {
    const body = new FormData();
    body.append('file', new File(['content'], fileName));
    await fetch(action, { method: 'POST', mode: 'no-cors', body });
  }, [target, `${name}-fetch`]);
}

async function main() {
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
      '--host-resolver-rules=MAP site.test 127.0.0.1, MAP other.test 127.0.0.1'],
  });
  const statuses = {};
  try {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    context.setDefaultTimeout(60_000);
    for (const [url, target, name] of JSON.parse(visits)) {
      const page = await context.newPage();
      await page.goto(url);
      await postByScript(page, target, name);
      statuses[name] = await postForm(page, target, name);
      await page.close();
    }
  } finally {
    await browser.close();
  }
  console.log(JSON.stringify(statuses));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
